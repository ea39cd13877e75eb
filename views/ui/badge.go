package ui

// Badge is a state, tier, cover or role in a word, a shape and a colour. Build it with StateBadge, TierBadge,
// CoverBadge or ToneBadge.
type Badge struct {
	Label string // as the person reads it
	Class string // of the stylesheet
	Icon  string // in the sprite; empty where Mark stands
	Mark  string // one letter, the same as in the heat map
	Title string // longer explanation on hover, optional
}

type look struct {
	tone Tone
	icon string
}

// states holds the look of every state of jobs, attempts, subscriptions, invoices, payments, cases and nodes.
var states = map[string]look{
	"draft": {Neutral, "draft"}, "held": {Warn, "pause"}, "queued": {Warn, "wait"}, "waiting": {Warn, "wait"},
	"admitted": {Info, "check"}, "placing": {Info, "arrow"}, "pending": {Info, "wait"}, "starting": {Info, "arrow"},
	"running": {Info, "play"}, "draining": {Warn, "wait"}, "stopping": {Warn, "stop"}, "notice": {Warn, "wait"},
	"finished": {Good, "check"}, "succeeded": {Good, "check"}, "complete": {Good, "check"}, "done": {Good, "check"},
	"failed": {Bad, "cross"}, "lost": {Bad, "cross"}, "refused": {Bad, "cross"}, "quarantined": {Bad, "alert"},
	"stopped": {Neutral, "stop"}, "cancelled": {Neutral, "stop"}, "preempted": {Warn, "undo"}, "reclaimed": {Warn, "undo"},
	"active": {Good, "check"}, "paused": {Warn, "pause"}, "ended": {Neutral, "stop"}, "trial": {Info, "play"},
	"open": {Info, "draft"}, "grace": {Warn, "wait"}, "final": {Good, "lock"}, "issued": {Info, "send"}, "paid": {Good, "check"},
	"part_paid": {Warn, "alert"}, "overdue": {Bad, "alert"}, "void": {Neutral, "cross"}, "closed": {Good, "lock"},
	"ready": {Good, "check"}, "cordoned": {Warn, "pause"}, "down": {Bad, "alert"}, "unhealthy": {Bad, "alert"},
	"disputed": {Warn, "alert"}, "answered": {Info, "send"}, "accepted": {Good, "check"}, "expired": {Neutral, "cross"},
}

// StateBadge shows a state; a state this version does not know gets the neutral look and its own label.
func StateBadge(state, label string) Badge {
	l, ok := states[state]
	if !ok {
		l = look{Neutral, "dot"}
	}
	return Badge{Label: label, Class: "badge tone-" + string(l.tone), Icon: l.icon}
}

// TierBadge shows what may happen to a job: guaranteed, burst or spot.
func TierBadge(tier, label string) Badge {
	icons := map[string]string{"guaranteed": "shield", "burst": "flex", "spot": "bolt"}
	icon, ok := icons[tier]
	if !ok {
		return ToneBadge(Neutral, label)
	}
	return Badge{Label: label, Class: "badge tier-" + tier, Icon: icon}
}

// CoverBadge shows as what a GPU is charged: own, loan or spot.
func CoverBadge(cover, label string) Badge {
	u, ok := uses[cover]
	if !ok {
		return ToneBadge(Neutral, label)
	}
	return Badge{Label: label, Class: "badge cover-" + cover, Mark: u.mark}
}

// ToneBadge shows any other word.
func ToneBadge(t Tone, label string) Badge {
	icons := map[Tone]string{Neutral: "dot", Info: "info", Good: "check", Warn: "alert", Bad: "cross"}
	return Badge{Label: label, Class: "badge tone-" + string(t), Icon: icons[t]}
}
