package domain

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"time"

	"gpupool/domain/pool"
)

// SyncInventory brings the nodes of the store to what the cluster has: GPUs,
// health, state. Site and contributor stay as the operator set them. A node
// that vanished is down: its GPUs leave the pool at the next decision.
func (s *Service) SyncInventory(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	info, err := s.cluster.Ping(ctx)
	var found []ClusterNode
	if err == nil {
		found, err = s.cluster.Nodes(ctx)
	}
	s.mu.Lock()
	if err == nil {
		s.health.Info = info
	}
	s.mu.Unlock()
	s.noteHealth(err)
	if err != nil {
		return err
	}
	changed := false
	err = s.store.Update(ctx, func(tx Tx) error {
		changed = false
		classes, err := tx.Classes()
		if err != nil {
			return err
		}
		known, err := tx.Nodes()
		if err != nil {
			return err
		}
		sites, err := tx.Sites()
		if err != nil {
			return err
		}
		for _, c := range found {
			n := nodeOf(c, classes, known, tx.Now())
			if !slices.ContainsFunc(sites, func(x Site) bool { return x.ID == n.Site }) {
				site := Site{ID: n.Site, Name: string(n.Site)}
				sites = append(sites, site)
				if err := tx.SaveSite(site); err != nil {
					return err
				}
			}
			if !sameNode(known, n) {
				changed = true
				if err := tx.SaveNode(n); err != nil {
					return err
				}
			}
		}
		for _, n := range known {
			if slices.ContainsFunc(found, func(c ClusterNode) bool { return c.ID == n.ID }) || n.State == NodeDown && n.GPUs == 0 {
				continue
			}
			changed = true
			n.State, n.GPUs, n.Foreign = NodeDown, 0, 0
			if err := tx.SaveNode(n); err != nil {
				return err
			}
		}
		if changed {
			return tx.BumpVersion()
		}
		return nil
	})
	if err == nil && changed {
		s.hub.Publish("")
	}
	return err
}

// sameNode tells whether the stored node says the same, apart from when it
// was seen.
func sameNode(known []Node, n Node) bool {
	for _, k := range known {
		if k.ID == n.ID {
			n.SeenAt = k.SeenAt
			return reflect.DeepEqual(normal(k), normal(n))
		}
	}
	return false
}

// normal has empty slices as nil: stored ones come back as either.
func normal(n Node) Node {
	if len(n.Devices) == 0 {
		n.Devices = nil
	}
	if len(n.Unhealthy) == 0 {
		n.Unhealthy = nil
	}
	return n
}

// nodeOf is what to store of a node of the cluster.
func nodeOf(c ClusterNode, classes []GPUClass, known []Node, now pool.Instant) Node {
	n := Node{ID: c.ID, Name: c.Name, Site: siteOf(c.Site), Contributor: pool.Consortium, State: c.State, SeenAt: now}
	for _, k := range known {
		if k.ID == c.ID {
			n.Site, n.Contributor, n.Cordoned = k.Site, k.Contributor, k.Cordoned
		}
	}
	for _, g := range c.Groups {
		class, ok := ClassOf(classes, g)
		if !ok || n.Class != "" && n.Class != class.ID {
			continue // shown by name, never scheduled
		}
		n.Class = class.ID
		n.GPUs += len(g.Healthy)
		n.Devices = append(append(n.Devices, g.Healthy...), g.Unhealthy...)
		n.Unhealthy = append(n.Unhealthy, g.Unhealthy...)
		n.Foreign += c.Foreign[g.Model]
	}
	slices.Sort(n.Devices)
	slices.Sort(n.Unhealthy)
	return n
}

func siteOf(name string) pool.SiteID {
	if pool.CheckSlug(name) == nil {
		return pool.SiteID(name)
	}
	return "main"
}

// ClassOf finds the class that selects the devices.
func ClassOf(classes []GPUClass, g DeviceGroup) (GPUClass, bool) {
	for _, c := range classes {
		if c.Vendor == g.Vendor && c.Type == g.Type && c.Model == g.Model && (c.MemoryMiB == 0 || g.MemoryMiB == 0 || c.MemoryMiB == g.MemoryMiB) {
			return c, true
		}
	}
	return GPUClass{}, false
}

// Unclassed lists devices of the cluster that no GPU class selects, for the
// operator, as "node: 8 x NVIDIA A100 (nvidia/gpu, 81920 MiB)".
func (s *Service) Unclassed(ctx context.Context, a Actor) ([]DeviceGroup, []string, error) {
	if err := a.NeedOperator(); err != nil {
		return nil, nil, err
	}
	found, err := s.cluster.Nodes(ctx)
	if err != nil {
		return nil, nil, err
	}
	var classes []GPUClass
	if err := s.store.View(ctx, func(tx Tx) (err error) { classes, err = tx.Classes(); return err }); err != nil {
		return nil, nil, err
	}
	var groups []DeviceGroup
	var lines []string
	for _, n := range found {
		for _, g := range n.Groups {
			if _, ok := ClassOf(classes, g); ok {
				continue
			}
			lines = append(lines, fmt.Sprintf("%s: %d x %s (%s/%s, %d MiB)", n.Name, len(g.Healthy)+len(g.Unhealthy), g.Model, g.Vendor, g.Type, g.MemoryMiB))
			if !slices.ContainsFunc(groups, func(o DeviceGroup) bool { return o.Model == g.Model && o.MemoryMiB == g.MemoryMiB }) {
				groups = append(groups, g)
			}
		}
	}
	return groups, lines, nil
}
