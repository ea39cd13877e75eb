package store

// nounRow is a row struct that converts to the noun D of package domain.
type nounRow[D any] interface {
	row
	noun() (D, error)
}

// nounOf converts what find gave.
func nounOf[R nounRow[D], D any](r R, err error) (D, error) {
	if err != nil {
		var zero D
		return zero, err
	}
	return r.noun()
}

// nounsOf converts what list gave.
func nounsOf[R nounRow[D], D any](rs []R, err error) ([]D, error) {
	return mapped(rs, err, R.noun)
}
