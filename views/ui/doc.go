// Package ui has the parts of which every page is built: fields, tables, badges, bars, charts. A part is given
// ready strings and booleans; what it works out itself is geometry and the link between label, hint and error.
// Nothing here carries an inline style or script: the content security policy forbids both.
//
// Pages arrange the parts with a few classes of the stylesheet: stack (one under the other), grid and grid charts
// (as many columns as fit), split with stack sticky (content and a column that stays in sight), form and filters
// (fields), row (buttons in a line), actions (buttons of a form), prose (running text), hero (the first sentence).
package ui
