package invoice

import (
	"errors"
	"fmt"
)

// State of an issued document. A draft has none: it is computed, not stored.
type State string

const (
	Issued        State = "issued"
	Paid          State = "paid"
	Void          State = "void"
	Uncollectible State = "uncollectible"
)

// transitions are all that may happen; what is not here may not.
var transitions = map[State][]State{
	Issued:        {Paid, Void, Uncollectible},
	Uncollectible: {Paid, Void},
	Paid:          {Issued}, // a payment bounced
	Void:          {},
}

// ErrTransition says that a document can't go from its state to the new one.
var ErrTransition = errors.New("the state can't change like this")

// Move checks a step. Staying in a state is no step and no error: events that
// come twice change nothing.
func Move(from, to State) error {
	if from == to {
		return nil
	}
	for _, s := range transitions[from] {
		if s == to {
			return nil
		}
	}
	return fmt.Errorf("from %s to %s: %w", from, to, ErrTransition)
}

// Live tells whether the document counts: a void one leaves its place for
// another of its account, period and kind, and keeps its number.
func (s State) Live() bool { return s != Void }
