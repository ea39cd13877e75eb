package nomad

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"

	"github.com/hashicorp/nomad/api"

	"gpupool/domain"
	"gpupool/domain/pool"
)

// EnsureNamespace makes the organisation's namespace with our driver as the
// only one allowed in it. One that is there already is left as it is.
func (c *Client) EnsureNamespace(ctx context.Context, org pool.OrgID) error {
	name := c.namespace(org)
	var there api.Namespace
	_, err := c.read(ctx, "/v1/namespace/"+url.PathEscape(name), "", nil, &there)
	if err == nil || domain.CodeOf(err) != domain.NotFound {
		return err
	}
	ns := api.Namespace{
		Name:         name,
		Description:  "Jobs of " + string(org) + ", placed by the GPU pool " + c.cfg.Prefix,
		Capabilities: &api.NamespaceCapabilities{EnabledTaskDrivers: []string{c.cfg.Driver}},
		Meta:         map[string]string{metaPool: c.cfg.Prefix, metaOrg: string(org)},
	}
	if c.cfg.Sim {
		ns.Capabilities = nil // nothing is executed there
	}
	err = c.write(ctx, "/v1/namespace", "", c.cfg.NamespaceToken, ns, nil)
	if domain.CodeOf(err) == domain.Forbidden {
		return wrap(domain.Forbidden, err, "The namespace %s is missing and our token may not make it. An operator of the cluster makes it with: nomad namespace apply %s", name, name)
	}
	return err
}

// Submit registers the attempt if its id is free. When it is taken by this
// very attempt, that is success: an earlier call got through. Invalid: the
// cluster will never take it; Conflict: the id belongs to a foreign job.
func (c *Client) Submit(ctx context.Context, s domain.RunSpec) error {
	master, err := c.masterAddr(ctx, s)
	if err != nil {
		return err
	}
	job, err := c.render(s, master)
	if err != nil {
		return err
	}
	ns := c.namespace(s.Org)
	req := api.JobRegisterRequest{Job: job, EnforceIndex: true, JobModifyIndex: 0}
	err = c.write(ctx, "/v1/jobs", ns, "", req, nil)
	if domain.CodeOf(err) != domain.Conflict {
		return err
	}
	there, getErr := c.job(ctx, s.Org, s.Attempt)
	if getErr != nil {
		return getErr
	}
	if there.ours {
		return nil
	}
	return err
}

// registered is what we need to know of a job on the cluster.
type registered struct {
	raw   map[string]any // the whole job, numbers exact
	index json.Number    // JobModifyIndex
	stop  bool
	ours  bool
}

func (c *Client) job(ctx context.Context, org pool.OrgID, a pool.AttemptID) (registered, error) {
	var body json.RawMessage
	if _, err := c.read(ctx, jobPath(a), c.namespace(org), nil, &body); err != nil {
		return registered{}, err
	}
	var r registered
	if err := decode(body, &r.raw); err != nil {
		return registered{}, wrap(domain.Unavailable, c.scrub(err), "The cluster's answer is not a job.")
	}
	r.index, _ = r.raw["JobModifyIndex"].(json.Number)
	r.stop, _ = r.raw["Stop"].(bool)
	meta := map[string]string{}
	if m, ok := r.raw["Meta"].(map[string]any); ok {
		for k, v := range m {
			meta[k], _ = v.(string)
		}
	}
	theirOrg, theirs, ok := c.owner(meta)
	r.ours = ok && theirOrg == org && theirs == a
	return r, nil
}

func jobPath(a pool.AttemptID) string { return "/v1/job/" + url.PathEscape(a.NomadID()) }

// Stop ends the attempt with its kill timeout and keeps the record: purging
// what runs would free its GPUs while the process still holds them.
func (c *Client) Stop(ctx context.Context, org pool.OrgID, a pool.AttemptID) error {
	err := c.remove(ctx, jobPath(a)+"?purge=false", c.namespace(org))
	if domain.CodeOf(err) == domain.NotFound {
		return nil
	}
	return err
}

// ExtendRun moves the end of a running attempt to s.MaxRun after its start,
// in place. Only that one value of the registered job is changed, so nothing
// restarts even if we would render it otherwise today. NotFound: no such
// attempt; Conflict: it is stopped or isn't ours.
func (c *Client) ExtendRun(ctx context.Context, s domain.RunSpec) error {
	there, err := c.job(ctx, s.Org, s.Attempt)
	if err != nil {
		return err
	}
	if !there.ours || there.stop {
		return domain.Errf(domain.Conflict, "The attempt %s has been stopped and can't be extended.", s.Attempt.NomadID())
	}
	groups, _ := there.raw["TaskGroups"].([]any)
	for _, g := range groups {
		if g, ok := g.(map[string]any); ok {
			g["MaxRunDuration"] = nanos(s.MaxRun)
		}
	}
	req := map[string]any{"Job": there.raw, "EnforceIndex": true, "JobModifyIndex": there.index}
	return c.write(ctx, "/v1/jobs", c.namespace(s.Org), "", req, nil)
}

// signals that a job may be sent.
var signals = []string{"SIGUSR1", "SIGUSR2", "SIGTERM", "SIGINT", "SIGHUP"}

// Signal sends the signal to every run of the attempt that is running. That
// none runs is no error.
func (c *Client) Signal(ctx context.Context, org pool.OrgID, a pool.AttemptID, signal string) error {
	if !slices.Contains(signals, signal) {
		return domain.Errf(domain.Invalid, "The signal %s can't be sent to a job.", signal)
	}
	allocs, err := c.allocsOf(ctx, org, a)
	if err != nil {
		return ignoreNotFound(err)
	}
	for _, al := range allocs {
		if al.ClientStatus != api.AllocClientStatusRunning {
			continue
		}
		// Forwarded by the servers; the node is never called by us.
		path := "/v1/client/allocation/" + url.PathEscape(al.ID) + "/signal"
		err := c.write(ctx, path, c.namespace(org), "", api.AllocSignalRequest{Task: task, Signal: signal}, nil)
		if err := ignoreNotFound(err); err != nil {
			return err
		}
	}
	return nil
}

// Forget purges an attempt whose runs have all ended. Conflict: one has not.
// Where our token may not purge, the cluster's own collection does it later,
// so that is no error.
func (c *Client) Forget(ctx context.Context, org pool.OrgID, a pool.AttemptID) error {
	allocs, err := c.allocsOf(ctx, org, a)
	if err != nil {
		return ignoreNotFound(err)
	}
	for _, al := range allocs {
		if !domain.RunStatus(al.ClientStatus).Terminal() {
			return domain.Errf(domain.Conflict, "The attempt %s has a run that is %s and can't be forgotten yet.", a.NomadID(), al.ClientStatus)
		}
	}
	err = c.remove(ctx, jobPath(a)+"?purge=true", c.namespace(org))
	if domain.CodeOf(err) == domain.Forbidden {
		return nil
	}
	return ignoreNotFound(err)
}

func (c *Client) allocsOf(ctx context.Context, org pool.OrgID, a pool.AttemptID) ([]*api.AllocationListStub, error) {
	var allocs []*api.AllocationListStub
	_, err := c.read(ctx, jobPath(a)+"/allocations", c.namespace(org), map[string]string{"all": "true"}, &allocs)
	return allocs, err
}

func ignoreNotFound(err error) error {
	if err != nil && domain.CodeOf(err) == domain.NotFound {
		return nil
	}
	return err
}

// decode keeps numbers exact: Nomad's instants do not fit a float.
func decode(body []byte, out any) error {
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	if err := d.Decode(out); err != nil {
		return fmt.Errorf("decode: %w", err)
	}
	return nil
}
