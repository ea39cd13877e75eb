package ui

import "strconv"

// share returns part of width in whole units, clamped to 0..width; an empty whole gives 0.
func share(part, whole, width int64) string {
	if whole <= 0 || part <= 0 {
		return "0"
	}
	if part >= whole {
		return strconv.FormatInt(width, 10)
	}
	return strconv.FormatFloat(float64(part)/float64(whole)*float64(width), 'f', 1, 64)
}

// px prints a coordinate with one digit: finer is not seen and costs bytes.
func px(x float64) string { return strconv.FormatFloat(x, 'f', 1, 64) }
