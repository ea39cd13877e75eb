package ui

// Tone is what a colour means. It never stands alone: beside it there is always a word, mostly an icon too.
type Tone string

const (
	Neutral Tone = "neutral" // nothing to do
	Info    Tone = "info"    // in progress, or worth knowing
	Good    Tone = "good"    // as it should be
	Warn    Tone = "warn"    // somebody should look
	Bad     Tone = "bad"     // broken, refused, lost
)

// Time is an instant ready to print, in the zone of the whole page: the viewer's own, else the pool's. The browser
// only adds its own zone to what shows on hover.
type Time struct {
	ISO  string // RFC 3339 in UTC, shown on hover
	Text string // in the viewer's zone, with the zone named where the page does not name it
}

// Link is a word that leads somewhere.
type Link struct {
	Label string
	Href  string
}
