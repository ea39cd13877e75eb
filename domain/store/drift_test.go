package store_test

import (
	"reflect"
	"regexp"
	"sort"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gpupool/domain/store"
	"gpupool/domain/store/storetest"
)

// written are the tables that only written SQL touches.
var written = map[string]bool{"invoice_counters": true}

var columnTag = regexp.MustCompile(`(?:^|;)column:([a-z0-9_]+)`)

func TestRowStructsAndSchemaNameTheSameColumns(t *testing.T) {
	t.Parallel()
	tables := sqliteSchema(t, storetest.Open(t, nil, storetest.SQLite(t)).DB())
	for _, r := range store.Rows() {
		kind := reflect.TypeOf(r)
		named, ok := r.(interface{ TableName() string })
		if !ok {
			t.Errorf("%s has no TableName: gorm would guess one", kind)
			continue
		}
		tb := tables[named.TableName()]
		if tb == nil {
			t.Errorf("%s: there is no table %s", kind, named.TableName())
			continue
		}
		delete(tables, named.TableName())
		columns, key := columnsOf(t, kind)
		var have []string
		for c := range tb.Columns {
			have = append(have, c)
		}
		sort.Strings(have)
		want := append([]string{}, tb.Key...)
		sort.Strings(want)
		if diff := cmp.Diff(have, columns); diff != "" {
			t.Errorf("columns of %s (-) and %s (+):\n%s", named.TableName(), kind, diff)
		}
		if diff := cmp.Diff(want, key); diff != "" {
			t.Errorf("primary key of %s (-) and %s (+):\n%s", named.TableName(), kind, diff)
		}
	}
	for name := range tables {
		if !written[name] {
			t.Errorf("table %s has no row struct in store.Rows", name)
		}
	}
}

// columnsOf reads the tags of a row struct; both lists are sorted.
func columnsOf(t *testing.T, kind reflect.Type) (columns, key []string) {
	for i := range kind.NumField() {
		f := kind.Field(i)
		tag := f.Tag.Get("gorm")
		m := columnTag.FindStringSubmatch(tag)
		if m == nil {
			t.Errorf("%s.%s has no column tag: gorm would guess one", kind, f.Name)
			continue
		}
		if f.Name == "CreatedAt" || f.Name == "UpdatedAt" || f.Name == "DeletedAt" {
			t.Errorf("%s.%s: gorm fills a field of this name with the system's time", kind, f.Name)
		}
		if strings.Contains(tag, "default:") {
			t.Errorf("%s.%s: gorm leaves out a zero field that has a default", kind, f.Name)
		}
		columns = append(columns, m[1])
		if strings.Contains(tag, "primaryKey") {
			key = append(key, m[1])
		}
	}
	sort.Strings(columns)
	sort.Strings(key)
	return columns, key
}
