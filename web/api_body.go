package web

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"

	"gpupool/domain"
)

// body is the whole request body, at most bodyLimit bytes.
func (q *call) body() ([]byte, error) {
	return io.ReadAll(q.echo.Request().Body)
}

// decode reads a JSON body strictly: one object, no unknown field, no wrong type.
func (q *call) decode(into any) error {
	b, err := q.body()
	if err != nil {
		return err
	}
	media, _, err := mime.ParseMediaType(q.echo.Request().Header.Get("Content-Type"))
	if err != nil || media != "application/json" {
		return &problem{Status: http.StatusUnsupportedMediaType, Code: "unsupported_media_type", Detail: "Send the body as application/json."}
	}
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return badBody(err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return &problem{Status: http.StatusBadRequest, Code: "malformed", Detail: "The body has something after its JSON object."}
	}
	return nil
}

// badBody says what is wrong with a body, at its field where one is known.
func badBody(err error) error {
	at := func(pointer, sentence string) error {
		return &problem{Status: http.StatusUnprocessableEntity, Code: string(domain.Invalid), Detail: "Please correct the marked fields.",
			Errors: []problemField{{Pointer: pointer, Detail: sentence}}}
	}
	var wrong *json.UnmarshalTypeError
	switch {
	case errors.As(err, &wrong) && wrong.Field != "":
		return at("/"+strings.ReplaceAll(wrong.Field, ".", "/"), fmt.Sprintf("This is %s; %s is needed.", sentOf(wrong.Value), kindOf(wrong.Type.Kind().String())))
	case strings.HasPrefix(err.Error(), "json: unknown field "):
		name := strings.Trim(strings.TrimPrefix(err.Error(), "json: unknown field "), `"`)
		return at("/"+pointerToken(name), "There is no such field.")
	}
	return &problem{Status: http.StatusBadRequest, Code: "malformed", Detail: "The body is not one JSON object."}
}

// pointerToken escapes a name for a JSON pointer (RFC 6901).
func pointerToken(name string) string {
	return strings.NewReplacer("~", "~0", "/", "~1").Replace(short(name, 60))
}

// sentOf names what was sent instead of what is needed.
func sentOf(value string) string {
	kind, literal, _ := strings.Cut(value, " ")
	switch kind {
	case "array":
		return "a list"
	case "object":
		return "an object"
	case "bool":
		return "true or false"
	case "string":
		return "a text"
	}
	if literal != "" {
		return "the number " + short(literal, 30)
	}
	return "a number"
}

func kindOf(kind string) string {
	switch kind {
	case "int", "int64":
		return "a whole number"
	case "slice":
		return "a list"
	case "map", "struct":
		return "an object"
	case "bool":
		return "true or false"
	}
	return "a text"
}

// clean replaces what no database keeps, so that it is refused as text and not as a failure.
func clean(s string) string { return strings.ReplaceAll(s, "\x00", "\uFFFD") }
