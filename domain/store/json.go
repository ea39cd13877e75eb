package store

import (
	"encoding/json"
	"fmt"
	"reflect"
)

// toJSON is v as the text of a column; a nil slice or map is written as empty,
// so that SQL never meets a JSON null.
func toJSON(v any) string {
	switch r := reflect.ValueOf(v); r.Kind() {
	case reflect.Slice:
		if r.Len() == 0 {
			return "[]"
		}
	case reflect.Map:
		if r.Len() == 0 {
			return "{}"
		}
	}
	b, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("store: %T has no JSON: %v", v, err)) // only a type of ours that cannot be written
	}
	return string(b)
}

// fromJSON reads what toJSON wrote into v; empty slices and maps come back nil.
func fromJSON(column, s string, v any) error {
	if s == "[]" || s == "{}" {
		return nil
	}
	if err := json.Unmarshal([]byte(s), v); err != nil {
		return fmt.Errorf("store: column %s: %w", column, err)
	}
	return nil
}
