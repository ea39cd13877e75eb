package nomad

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"gpupool/domain"
)

// Limits of what a person may send along with a job.
const (
	maxCommand = 4096
	maxArgs    = 256
	maxEnv     = 128
	maxValue   = 32 << 10
	maxSpec    = 128 << 10
)

var (
	envKey   = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,127}$`)
	imageRef = regexp.MustCompile(`^[a-z0-9]+(([._:/]|-+)[A-Za-z0-9_]+|__[A-Za-z0-9_]+)*(@sha256:[0-9a-f]{64})?$`)

	// harmless is what a job may still ask Nomad to fill in: its own folders.
	harmless = regexp.MustCompile(`\$\{(NOMAD_TASK_DIR|NOMAD_ALLOC_DIR|NOMAD_SECRETS_DIR)\}`)
)

// Names with which a task could widen its GPUs, load foreign code or pretend
// to be Nomad.
var refusedPrefixes = []string{"NVIDIA_", "NOMAD_", "LD_", "DOCKER_"}

// gangNames are rendered by us for a job on several nodes.
var gangNames = []string{"NODE_RANK", "NNODES", "GPUS_PER_NODE", "MASTER_ADDR", "MASTER_PORT"}

// CheckSpec tells what in a job can't run on this cluster: *domain.Error with
// code Invalid and a field for each fault (image, command, args, env). nodes is
// on how many nodes it runs at once.
func (c *Client) CheckSpec(s domain.JobSpec, nodes int) error {
	var f domain.Fields
	c.checkImage(&f, s)
	checkCommand(&f, s)
	checkEnv(&f, s.Env, nodes)
	if c.cfg.Driver == "exec" || c.cfg.Driver == "raw_exec" {
		if s.Command == "" {
			f.Add("command", "This cluster runs commands, not images: a command is needed.")
		}
	}
	return f.Err()
}

func (c *Client) checkImage(f *domain.Fields, s domain.JobSpec) {
	switch c.cfg.Driver {
	case "docker", "podman":
	case "exec":
		if s.Image != "" {
			f.Add("image", "This cluster runs commands without images; leave the image empty.")
		}
		return
	default:
		return // test drivers run no image
	}
	switch {
	case s.Image == "":
		f.Add("image", "An image is needed.")
	case len(s.Image) > 512 || !imageRef.MatchString(s.Image):
		f.Add("image", "This is not the name of an image, such as ghcr.io/acme/train:1.2.")
	case !c.allowedRegistry(s.Image):
		f.Add("image", "Images must come from %s.", strings.Join(c.cfg.Registries, ", "))
	}
}

func (c *Client) allowedRegistry(image string) bool {
	return len(c.cfg.Registries) == 0 || slices.ContainsFunc(c.cfg.Registries, func(r string) bool {
		return strings.HasPrefix(image, strings.TrimSuffix(r, "/")+"/")
	})
}

func checkCommand(f *domain.Fields, s domain.JobSpec) {
	switch {
	case len(s.Command) > maxCommand:
		f.Add("command", "The command is longer than %d bytes.", maxCommand)
	case strings.Contains(s.Command, "${"):
		f.Add("command", "${ is not allowed here: the cluster would replace it before your shell sees it.")
	case strings.ContainsRune(s.Command, 0):
		f.Add("command", "The command contains a zero byte.")
	}
	if len(s.Args) > maxArgs {
		f.Add("args", "There are more than %d arguments.", maxArgs)
	}
	total := 0
	for _, a := range s.Args {
		total += len(a)
		checkValue(f, "args", a)
	}
	if s.Command == "" && len(s.Args) > 0 {
		f.Add("command", "Arguments need a command.")
	}
	if total > maxSpec {
		f.Add("args", "The arguments are longer than %d bytes together.", maxSpec)
	}
}

func checkEnv(f *domain.Fields, env map[string]string, nodes int) {
	if len(env) > maxEnv {
		f.Add("env", "There are more than %d variables.", maxEnv)
	}
	total := 0
	for _, k := range slices.Sorted(maps.Keys(env)) {
		total += len(env[k])
		up := strings.ToUpper(k)
		reserved := up == "CUDA_VISIBLE_DEVICES" || nodes > 1 && slices.Contains(gangNames, up) ||
			slices.ContainsFunc(refusedPrefixes, func(p string) bool { return strings.HasPrefix(up, p) })
		switch {
		case !envKey.MatchString(k):
			f.Add("env", "%s is not the name of a variable.", k)
		case reserved:
			f.Add("env", "The variable %s is set by the cluster and can't be chosen.", k)
		}
		checkValue(f, "env", env[k])
	}
	if total > maxSpec {
		f.Add("env", "The variables are longer than %d bytes together.", maxSpec)
	}
}

func checkValue(f *domain.Fields, field, v string) {
	switch {
	case len(v) > maxValue:
		f.Add(field, "A value is longer than %d bytes.", maxValue)
	case strings.ContainsRune(v, 0):
		f.Add(field, "A value contains a zero byte.")
	case strings.Contains(harmless.ReplaceAllString(v, ""), "${"):
		f.Add(field, "${ is only allowed in ${NOMAD_TASK_DIR}, ${NOMAD_ALLOC_DIR} and ${NOMAD_SECRETS_DIR}.")
	}
}
