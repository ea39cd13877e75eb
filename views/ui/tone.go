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

// Time is an instant ready to print. Auto lets the browser show it in its own zone, named; it is for people who are
// not signed in or have chosen no zone. Without script the text stands as given.
type Time struct {
	ISO  string // RFC 3339 in UTC, shown on hover
	Text string // in the viewer's zone, with the zone named where the page does not name it
	Auto bool
}

// Link is a word that leads somewhere.
type Link struct {
	Label string
	Href  string
}
