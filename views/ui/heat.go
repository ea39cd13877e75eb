package ui

// use is who has a GPU, in the words of the portal: a letter and a colour each.
type use struct{ mark, word string }

// uses lists every use of a GPU; the words are sentences for the translation function.
var uses = map[string]use{
	"own":  {"O", "own"},
	"loan": {"L", "lent"},
	"spot": {"S", "spot"},
	"free": {"F", "free"},
	"out":  {"X", "out of service"},
	"back": {"R", "being freed"},
}

// useOrder is the order of legends and tables.
var useOrder = []string{"own", "loan", "spot", "back", "free", "out"}

// Square is one GPU. Use is "own", "loan", "spot", "free", "out" or "back" (being freed).
type Square struct {
	Use   string
	Title string // who and which job, as far as the viewer may know
	Href  string
}

// HeatGroup is the GPUs of one node or class.
type HeatGroup struct {
	Label   string
	Sub     string // GPU type, site, contributor
	Href    string
	Squares []Square
	PerRow  int // default 8; 7 for the slices of a card
}

// Heat shows every GPU of the pool, by letter and colour, and the same as a small table.
type Heat struct {
	ID      string
	Caption string
	Topics  string
	Groups  []HeatGroup
	Open    bool // the table is unfolded at first
}

const pitch = 22 // of the squares, in pixels

type placed struct {
	Square
	mark string
	x, y int
}

func (g HeatGroup) perRow() int {
	if g.PerRow > 0 {
		return g.PerRow
	}
	return 8
}

func (g HeatGroup) placed() []placed {
	all := make([]placed, len(g.Squares))
	for i, s := range g.Squares {
		u, ok := uses[s.Use]
		if !ok {
			s.Use, u = "out", uses["out"]
		}
		all[i] = placed{s, u.mark, i % g.perRow() * pitch, i / g.perRow() * pitch}
	}
	return all
}

func (g HeatGroup) width() int  { return min(len(g.Squares), g.perRow())*pitch - 2 }
func (g HeatGroup) height() int { return (len(g.Squares)+g.perRow()-1)/g.perRow()*pitch - 2 }

func (g HeatGroup) count(use string) int {
	n := 0
	for _, s := range g.placed() {
		if s.Use == use {
			n++
		}
	}
	return n
}

// present lists the uses that occur in any group, always with own, loan, spot and free, so that the columns of the
// table stay where they are while the pool changes.
func (h Heat) present() []string {
	var all []string
	for _, u := range useOrder {
		seen := u != "out" && u != "back"
		for _, g := range h.Groups {
			seen = seen || g.count(u) > 0
		}
		if seen {
			all = append(all, u)
		}
	}
	return all
}
