package domain

import (
	"cmp"
	"context"
	"slices"
	"time"

	"gpupool/domain/pool"
)

// Announcement is what the operator tells everybody for some time, and, where
// it is a maintenance, the nodes that are taken away meanwhile: no job is
// placed there that could still run when it begins, and what runs then stops
// with notice. Rows are never edited, only ended.
type Announcement struct {
	ID    string
	Text  string
	Start pool.Instant
	End   pool.Instant
	// Maintenance takes away the nodes that match all that is set; none set:
	// the whole pool.
	Maintenance bool
	Node        pool.NodeID
	Site        pool.SiteID
	Class       pool.ClassID
	CreatedAt   pool.Instant
	EndedAt     pool.Instant // pool.Never while it stands
}

// Interval in which it holds: to its end, or to when it was ended.
func (a Announcement) Interval() pool.Interval {
	return pool.Interval{Start: a.Start, End: min(a.End, max(a.Start, a.EndedAt))}
}

// covers tells whether a maintenance takes a node away.
func (a Announcement) covers(n Node) bool {
	return a.Maintenance && (a.Node == "" || a.Node == n.ID) && (a.Site == "" || a.Site == n.Site) && (a.Class == "" || a.Class == n.Class)
}

// maintenanceOf is the time for which a node is away, or is next: maintenances
// that meet are one. Empty: none is planned. Each of them is in text.
func (t Terms) maintenanceOf(n Node, now pool.Instant) (v pool.Interval, texts []string) {
	for _, a := range t.Announcements { // by Start
		w := a.Interval()
		if !a.covers(n) || w.Empty() || w.End <= now {
			continue
		}
		if v.Empty() {
			v = w
		} else if w.Start > v.End {
			continue
		}
		v.End = max(v.End, w.End)
		texts = append(texts, a.Text)
	}
	return v, texts
}

// announcedBefore is how long before it begins a maintenance stands on the pages.
const announcedBefore = 7 * 24 * time.Hour

// Announced is what stands on every page at an instant, by start.
func (t Terms) Announced(now pool.Instant) []Announcement {
	return only(t.Announcements, func(a Announcement) bool {
		v := a.Interval()
		if a.Maintenance {
			v.Start = v.Start.Add(-announcedBefore)
		}
		return !a.Interval().Empty() && v.Contains(now)
	})
}

// AnnouncementInput is the operator's form, as typed.
type AnnouncementInput struct {
	Text        string
	Start, End  string // 2026-12-05 08:00 in the pool's zone; an empty start is now
	Maintenance bool
	Node        pool.NodeID
	Site        pool.SiteID
	Class       pool.ClassID
}

const maxAnnouncement = 500

// Announce tells everybody something, or plans a maintenance.
func (s *Service) Announce(ctx context.Context, a Actor, in AnnouncementInput) (Announcement, error) {
	if err := a.NeedOperator(); err != nil {
		return Announcement{}, err
	}
	id := s.newID("an-")
	var x Announcement
	err := s.update(ctx, "", func(tx Tx) error {
		t, err := LoadTerms(tx)
		if err != nil {
			return err
		}
		var f Fields
		x = Announcement{ID: id, Text: trimmed(in.Text), Maintenance: in.Maintenance, CreatedAt: tx.Now(), EndedAt: pool.Never}
		checkText(&f, "text", x.Text, true, maxAnnouncement)
		if x.Start = tx.Now(); trimmed(in.Start) != "" {
			x.Start = checkMoment(&f, "start", in.Start, t.Zone)
		}
		x.End = checkMoment(&f, "end", in.End, t.Zone)
		switch {
		case x.Start == 0 || x.End == 0:
		case x.End <= tx.Now():
			f.Add("end", "This is over already.")
		case x.End <= x.Start:
			f.Add("end", "The end is not after the start.")
		case x.End.Sub(x.Start) > 366*24*time.Hour:
			f.Add("end", "At most a year after the start.")
		}
		if in.Maintenance {
			x.Node, x.Site, x.Class = in.Node, in.Site, in.Class
			checkHardware(&f, t, x)
			if x.Start != 0 && x.Start < tx.Now() {
				f.Add("start", "This has passed. A maintenance begins now at the soonest.")
			}
		}
		if err := f.Err(); err != nil {
			return err
		}
		if err := tx.InsertAnnouncement(x); err != nil {
			return err
		}
		if err := tx.BumpVersion(); err != nil {
			return err
		}
		return audit(tx, a, "", "announcement.create", id, nil, x)
	})
	return x, err
}

func checkHardware(f *Fields, t Terms, x Announcement) {
	if x.Node != "" && !slices.ContainsFunc(t.Nodes, func(n Node) bool { return n.ID == x.Node }) {
		f.Add("node", "There is no such node.")
		return
	}
	if x.Class != "" && !slices.ContainsFunc(t.Classes, func(c GPUClass) bool { return c.ID == x.Class }) {
		f.Add("class", "There is no such GPU type.")
		return
	}
	if !slices.ContainsFunc(t.Nodes, x.covers) {
		f.Add("site", "No node has this site, GPU type and name together.")
	}
}

// EndAnnouncement takes it back from now on: a maintenance that has begun is
// over, one that hasn't is called off.
func (s *Service) EndAnnouncement(ctx context.Context, a Actor, id string) (Announcement, error) {
	if err := a.NeedOperator(); err != nil {
		return Announcement{}, err
	}
	var x Announcement
	err := s.update(ctx, "", func(tx Tx) error {
		all, err := tx.Announcements()
		if err != nil {
			return err
		}
		i := slices.IndexFunc(all, func(x Announcement) bool { return x.ID == id })
		if i < 0 {
			return Errf(NotFound, "There is no such announcement.")
		}
		if x = all[i]; x.EndedAt != pool.Never || x.End <= tx.Now() {
			return Errf(Conflict, "This is over already.")
		}
		before := x
		x.EndedAt = tx.Now()
		if err := tx.EndAnnouncement(id, x.EndedAt); err != nil {
			return err
		}
		if err := tx.BumpVersion(); err != nil {
			return err
		}
		return audit(tx, a, "", "announcement.end", id, before, x)
	})
	return x, err
}

// Announcements that hold or come, for everybody signed in, the soonest first.
func (s *Service) Announcements(ctx context.Context, a Actor) ([]Announcement, error) {
	if !a.SignedIn() && a.Via != ViaSystem {
		return nil, Errf(Unauthenticated, "Please sign in.")
	}
	return s.announcements(ctx, func(x Announcement, now pool.Instant) bool { return !x.Interval().Empty() && x.Interval().End > now })
}

// AnnouncementsPast are those that are over, for the operator, the latest first.
func (s *Service) AnnouncementsPast(ctx context.Context, a Actor) ([]Announcement, error) {
	if err := a.NeedOperator(); err != nil {
		return nil, err
	}
	out, err := s.announcements(ctx, func(x Announcement, now pool.Instant) bool { return x.Interval().Empty() || x.Interval().End <= now })
	slices.Reverse(out)
	return out, err
}

func (s *Service) announcements(ctx context.Context, keep func(Announcement, pool.Instant) bool) ([]Announcement, error) {
	var out []Announcement
	err := s.store.View(ctx, func(tx Tx) error {
		t, err := LoadTerms(tx)
		if err != nil {
			return err
		}
		out = only(t.Announcements, func(x Announcement) bool { return keep(x, tx.Now()) })
		return nil
	})
	slices.SortStableFunc(out, func(x, y Announcement) int { return cmp.Compare(x.Start, y.Start) })
	return out, err
}

// Maintenance of each node that has one ahead or under way.
func (s *Service) Maintenance(ctx context.Context, a Actor) (map[pool.NodeID]pool.Interval, error) {
	if err := a.NeedOperator(); err != nil {
		return nil, err
	}
	out := map[pool.NodeID]pool.Interval{}
	err := s.store.View(ctx, func(tx Tx) error {
		t, err := LoadTerms(tx)
		for _, n := range t.Nodes {
			if v, _ := t.maintenanceOf(n, tx.Now()); !v.Empty() {
				out[n.ID] = v
			}
		}
		return err
	})
	return out, err
}

// checkMoment is a day and a time of the pool's zone as typed, 0 with an error.
// Where the clocks show it twice it is the first of both, where they skip it
// the moment of the change.
func checkMoment(f *Fields, field, s string, zone *time.Location) pool.Instant {
	s = trimmed(s)
	if s == "" {
		f.Add(field, "Please fill in this field.")
		return 0
	}
	for _, layout := range []string{"2006-01-02 15:04", "2006-01-02T15:04"} {
		if t, err := time.Parse(layout, s); err == nil && t.Year() >= 1971 && t.Year() <= 9998 {
			return pool.WallClock(t.Year(), t.Month(), t.Day(), t.Hour()*60+t.Minute(), zone)
		}
	}
	f.Add(field, "Write a day and a time such as 2026-12-05 08:00.")
	return 0
}
