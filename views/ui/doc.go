// Package ui has the parts of which every page is built: fields, tables, badges, bars, charts. A part is given
// ready strings and booleans; what it works out itself is geometry and the link between label, hint and error.
// Nothing here carries an inline style or script: the content security policy forbids both.
package ui
