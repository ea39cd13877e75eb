package embedded

import "encoding/json"

// raw is a part of a job that this cluster keeps and shows but doesn't read.
type raw = json.RawMessage

// jobText is a job as registered: Nomad's job object, every key always there.
// A jobText never changes once it is stored; an update stores a new one.
type jobText struct {
	Affinities               raw
	AllAtOnce                bool
	Constraints              []constraint
	ConsulNamespace          string
	CreateIndex              uint64
	Datacenters              []string
	DispatchIdempotencyToken string
	Dispatched               bool
	ID                       string
	JobModifyIndex           uint64
	Meta                     map[string]string
	ModifyIndex              uint64
	Multiregion              raw
	Name                     string
	Namespace                string
	NodePool                 string
	NomadTokenID             string
	ParameterizedJob         raw
	ParentID                 string
	Payload                  raw
	Periodic                 raw
	Priority                 int
	Region                   string
	Spreads                  raw
	Stable                   bool
	Status                   string
	StatusDescription        string
	Stop                     bool
	SubmitTime               int64
	TaskGroups               []*groupText
	Type                     string
	UI                       raw
	Update                   updateText
	VaultNamespace           string
	Version                  uint64
	VersionTag               raw
}

type constraint struct {
	LTarget string
	Operand string
	RTarget string
}

type groupText struct {
	Affinities                raw
	Constraints               []constraint
	Consul                    raw
	Count                     *int
	Disconnect                *disconnectText
	EphemeralDisk             *diskText
	MaxClientDisconnect       *int64
	MaxRunDuration            *int64 // nanoseconds, counted from placement
	Meta                      map[string]string
	Migrate                   raw
	Name                      string
	Networks                  raw
	PreventRescheduleOnLost   bool
	ReschedulePolicy          *rescheduleText
	RestartPolicy             *restartText
	Scaling                   raw
	Services                  raw
	ShutdownDelay             *int64
	Spreads                   raw
	StopAfterClientDisconnect *int64
	Tasks                     []*taskText
	Update                    raw
	Volumes                   raw
}

type disconnectText struct {
	LostAfter         *int64
	Reconcile         *string
	Replace           *bool
	StopOnClientAfter *int64
}

type diskText struct {
	Migrate bool
	SizeMB  int
	Sticky  bool
}

type rescheduleText struct {
	Attempts      int
	Delay         int64
	DelayFunction string
	Interval      int64
	MaxDelay      int64
	Unlimited     bool
}

type restartText struct {
	Attempts        int
	Delay           int64
	Interval        int64
	Mode            string
	RenderTemplates bool
}

type updateText struct {
	AutoPromote      bool
	AutoRevert       bool
	Canary           int
	HealthCheck      string
	HealthyDeadline  int64
	MaxParallel      int
	MinHealthyTime   int64
	ProgressDeadline int64
	Stagger          int64
}

type taskText struct {
	Actions         raw
	Affinities      raw
	Artifacts       raw
	CSIPluginConfig raw
	Config          raw
	Constraints     []constraint
	Consul          raw
	DispatchPayload raw
	Driver          string
	Env             map[string]string
	Identities      raw
	Identity        *identityText
	KillSignal      string
	KillTimeout     int64
	Kind            string
	Leader          bool
	Lifecycle       raw
	LogConfig       *logConfigText
	Meta            map[string]string
	Name            string
	Resources       *resourcesText
	RestartPolicy   *restartText
	ScalingPolicies raw
	Schedule        raw
	Secrets         raw
	Services        raw
	ShutdownDelay   int64
	Templates       raw
	User            string
	Vault           raw
	VolumeMounts    raw
}

type identityText struct {
	Audience     []string
	ChangeMode   string
	ChangeSignal string
	Env          bool
	ExtraClaims  map[string]string
	File         bool
	Filepath     string
	Name         string
	ServiceName  string
	TTL          int64
}

type logConfigText struct {
	Disabled      bool
	MaxFileSizeMB int
	MaxFiles      int
}

type resourcesText struct {
	CPU         int
	Cores       int
	Devices     []deviceRequest
	DiskMB      int
	IOPS        int
	MemoryMB    int
	MemoryMaxMB int
	NUMA        raw
	Networks    raw
	SecretsMB   int
}

type deviceRequest struct {
	Affinities  raw
	Constraints []constraint
	Count       int
	Name        string
}

func (g *groupText) count() int {
	if g.Count == nil {
		return 1
	}
	return *g.Count
}

func (j *jobText) group(name string) *groupText {
	for _, g := range j.TaskGroups {
		if g.Name == name {
			return g
		}
	}
	return nil
}

// copied is a deep copy through JSON: what is stored never shares memory with
// what somebody still changes.
func (j *jobText) copied() *jobText {
	b, err := json.Marshal(j)
	if err != nil {
		panic(err) // a job that came in as JSON always goes out as JSON
	}
	out := new(jobText)
	if err := json.Unmarshal(b, out); err != nil {
		panic(err)
	}
	return out
}
