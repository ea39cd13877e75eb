package views

import (
	"github.com/a-h/templ"

	"gpupool/views/ui"
)

// Page is the frame around the content of every page.
type Page struct {
	Title    string // of the browser's tab; the product's name is added
	Heading  string // the one h1; empty where the content has its own
	Lead     string // one sentence under the heading
	Crumbs   []ui.Link
	Tabs     []ui.Tab
	TabsName string          // what the tabs are, for screen readers
	Badges   []ui.Badge      // beside the heading
	Actions  templ.Component // buttons at the heading's end
	Notices  []ui.Notice     // what just happened, announcements
	Live     Live
	Path     string // of this page with its query, where a sign-in or a change of language returns to

	Home   string // address behind the product's name
	Org    OrgSwitch
	Nav    []NavGroup // by role; empty on public pages
	Public []ui.Link  // in the header of people who are not signed in
	User   *User      // nil: not signed in
	Demo   *Demo      // nil: not a demo
	Search *Search
	Footer Footer
	Wide   bool // a page that wants the whole width
	Plain  bool // sign-in and other small forms: one narrow column
}

// Live is the page's stream of server-sent events. Each message names topics, separated by spaces; every element
// whose data-bind has one of them is fetched again from this page's own address. Empty Src: the page stands still.
type Live struct {
	Src     string
	Updated ui.Time // when the page was made
}

// OrgSwitch leads from one organisation of the person to another.
type OrgSwitch struct {
	Name   string // shown now; empty: no organisation
	Role   string
	Others []ui.Link
}

// NavGroup is a run of links under a small heading.
type NavGroup struct {
	Title string
	Links []NavLink
}

// NavLink is an entry of the navigation.
type NavLink struct {
	Label   string
	Href    string
	Icon    string
	Current bool
	Count   string // what waits there
	Key     string // second key of the shortcut "g" + letter
}

// User is the person signed in.
type User struct {
	Name     string
	Initials string
	Email    string
	Account  string // address
	SignOut  string // address of the POST
	Nonce    string
}

// Demo is the banner of a demo pool with its clock.
type Demo struct {
	Sentence string // what is simulated
	Clock    ui.Time
	Speed    string // "60x"
	Action   string // address of the POST
	Nonce    string
	Return   string // path to come back to, sent as "return"
	Buttons  []DemoButton
}

// DemoButton is sent as "advance" with its value.
type DemoButton struct {
	Label   string
	Value   string
	Pressed bool // the speed that runs now
}

// Search is the box that "/" focuses; it sends "q".
type Search struct {
	Action string
	Label  string
	Value  string
}

// Footer says what every figure on the page rests on.
type Footer struct {
	Zone    string // "All periods are in Europe/Berlin."
	Version string
	Links   []ui.Link
}

func pressed(on bool) string {
	if on {
		return "true"
	}
	return "false"
}
