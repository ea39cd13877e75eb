package nomad

import (
	"cmp"
	"context"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hashicorp/nomad/api"

	"gpupool/domain"
	"gpupool/domain/pool"
)

// nodeDetail is what only the single node's answer tells. It changes with the
// node's modify index, so it is read again only then.
type nodeDetail struct {
	index   uint64
	name    string
	site    string
	address string
	updated pool.Instant
}

// Nodes lists the machines with their devices, ordered by name. Foreign counts
// the distinct devices that allocations without our meta hold now. LastSeen is
// set for a node that is down: when the servers noticed.
func (c *Client) Nodes(ctx context.Context) ([]domain.ClusterNode, error) {
	stubs, err := pages[*api.NodeListStub](ctx, c, "/v1/nodes", map[string]string{"resources": "true"})
	if err != nil {
		return nil, err
	}
	foreign, err := c.foreign(ctx)
	if err != nil {
		return nil, err
	}
	out := make([]domain.ClusterNode, 0, len(stubs))
	for _, s := range stubs {
		d, err := c.node(ctx, s.ID, s.ModifyIndex)
		if domain.CodeOf(err) == domain.NotFound {
			continue // collected between the two calls
		} else if err != nil {
			return nil, err
		}
		n := domain.ClusterNode{ID: pool.NodeID(s.ID), Name: s.Name, State: nodeState(s), Site: d.site, Foreign: map[string]int{}}
		if n.State == domain.NodeDown {
			n.LastSeen = d.updated
		}
		if s.NodeResources != nil {
			n.Groups = deviceGroups(s.NodeResources.Devices)
		}
		for model, ids := range foreign[s.ID] {
			n.Foreign[model] = len(ids)
		}
		out = append(out, n)
	}
	slices.SortFunc(out, func(a, b domain.ClusterNode) int {
		return cmp.Or(strings.Compare(a.Name, b.Name), strings.Compare(string(a.ID), string(b.ID)))
	})
	return out, nil
}

func nodeState(s *api.NodeListStub) domain.NodeState {
	switch {
	case s.Status != api.NodeStatusReady:
		return domain.NodeDown
	case s.Drain || s.SchedulingEligibility == api.NodeSchedulingIneligible:
		return domain.NodeDraining
	}
	return domain.NodeReady
}

func deviceGroups(in []*api.NodeDeviceResource) []domain.DeviceGroup {
	var out []domain.DeviceGroup
	for _, d := range in {
		g := domain.DeviceGroup{Vendor: d.Vendor, Type: d.Type, Model: d.Name, MemoryMiB: memoryMiB(d.Attributes["memory"])}
		for _, i := range d.Instances {
			if i.Healthy {
				g.Healthy = append(g.Healthy, i.ID)
			} else {
				g.Unhealthy = append(g.Unhealthy, i.ID)
			}
		}
		slices.Sort(g.Healthy)
		slices.Sort(g.Unhealthy)
		out = append(out, g)
	}
	return out
}

// memoryMiB reads the attribute in the units that device plugins use.
func memoryMiB(a *api.Attribute) int64 {
	if a == nil || a.IntVal == nil {
		return 0
	}
	switch a.Unit {
	case "GiB":
		return *a.IntVal << 10
	case "MB":
		return *a.IntVal * 1_000_000 >> 20
	case "GB":
		return *a.IntVal * 1_000_000_000 >> 20
	}
	return *a.IntVal
}

// foreign is, per node and device model, the devices held by allocations that
// aren't this pool's.
func (c *Client) foreign(ctx context.Context) (map[string]map[string]map[string]bool, error) {
	allocs, err := c.allocations(ctx)
	if err != nil {
		return nil, err
	}
	jobs, err := c.ourJobs(ctx)
	if err != nil {
		return nil, err
	}
	out := map[string]map[string]map[string]bool{}
	for _, a := range allocs {
		if _, ours := jobs[jobKey{a.Namespace, a.JobID}]; ours || domain.RunStatus(a.ClientStatus).Terminal() {
			continue
		}
		if out[a.NodeID] == nil {
			out[a.NodeID] = map[string]map[string]bool{}
		}
		devices(a.AllocatedResources, out[a.NodeID])
	}
	return out, nil
}

// node reads one node's details, from memory when they are of that modify
// index or index is 0.
func (c *Client) node(ctx context.Context, id string, index uint64) (nodeDetail, error) {
	c.mu.Lock()
	d, ok := c.nodes[id]
	c.mu.Unlock()
	if ok && (index == 0 || d.index == index) {
		return d, nil
	}
	var n api.Node
	if _, err := c.read(ctx, "/v1/node/"+url.PathEscape(id), "", nil, &n); err != nil {
		return nodeDetail{}, err
	}
	d = nodeDetail{
		index:   n.ModifyIndex,
		name:    n.Name,
		site:    cmp.Or(n.Meta["gpupool_site"], n.Meta["site"], n.Datacenter),
		address: n.Attributes["unique.network.ip-address"],
	}
	if d.address == "" {
		d.address, _, _ = strings.Cut(n.HTTPAddr, ":")
	}
	if n.StatusUpdatedAt > 0 {
		d.updated = pool.At(time.Unix(n.StatusUpdatedAt, 0))
	}
	c.mu.Lock()
	c.nodes[id] = d
	c.mu.Unlock()
	return d, nil
}

// SetEligible lets the node take new jobs or not; what runs there goes on.
func (c *Client) SetEligible(ctx context.Context, n pool.NodeID, eligible bool) error {
	word := api.NodeSchedulingIneligible
	if eligible {
		word = api.NodeSchedulingEligible
	}
	req := map[string]string{"NodeID": string(n), "Eligibility": word}
	return c.write(ctx, "/v1/node/"+url.PathEscape(string(n))+"/eligibility", "", "", req, nil)
}

// versionNumbers reads 2.0.6-dev as [2 0 6].
func versionNumbers(v string) [3]int {
	var out [3]int
	v, _, _ = strings.Cut(strings.TrimPrefix(v, "v"), "-")
	v, _, _ = strings.Cut(v, "+")
	for i, p := range strings.SplitN(v, ".", 3) {
		out[i], _ = strconv.Atoi(p)
	}
	return out
}

// olderThan compares a version with a release.
func olderThan(v string, major, minor, patch int) bool {
	n := versionNumbers(v)
	return cmp.Or(cmp.Compare(n[0], major), cmp.Compare(n[1], minor), cmp.Compare(n[2], patch)) < 0
}
