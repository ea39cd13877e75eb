package store_test

import (
	"database/sql"
	"fmt"
	"regexp"
	"sort"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gpupool/domain/store/storetest"
)

// table is what a table means, in words that both engines share.
type table struct {
	Columns  map[string]string // name: type, "null" when nullable
	Key      []string          // primary key
	Unique   []string          // "(a, b) where …", sorted
	Indexes  []string
	Foreign  []string // "(a) to t(b)"
	Checks   int
	Triggers []string // UPDATE, DELETE, INSERT; sorted
}

type schema map[string]*table

func TestBothEnginesHaveOneSchema(t *testing.T) {
	t.Parallel()
	pg := postgresSchema(t, storetest.Open(t, nil, storetest.Postgres(t)).DB())
	lite := sqliteSchema(t, storetest.Open(t, nil, storetest.SQLite(t)).DB())
	if len(lite) < 40 {
		t.Fatalf("only %d tables were read", len(lite))
	}
	if diff := cmp.Diff(lite, pg); diff != "" {
		t.Errorf("SQLite (-) and PostgreSQL (+) differ:\n%s", diff)
	}
}

func TestNoUniqueKeyHasANullableColumn(t *testing.T) {
	t.Parallel()
	met := 0
	for name, tb := range sqliteSchema(t, storetest.Open(t, nil, storetest.SQLite(t)).DB()) {
		keys := append([]string{"(" + strings.Join(tb.Key, ", ") + ")"}, tb.Unique...)
		if len(tb.Key) == 0 {
			t.Errorf("%s has no primary key", name)
		}
		for col, kind := range tb.Columns {
			if !strings.HasSuffix(kind, "null") {
				continue
			}
			met++
			for _, k := range keys {
				if regexp.MustCompile(`\b` + col + `\b`).MatchString(k) {
					t.Errorf("%s.%s is nullable and stands in the key %s", name, col, k)
				}
			}
		}
	}
	if met == 0 {
		t.Error("no nullable column was met: the test reads the schema wrongly")
	}
}

func TestTextOfPostgreSQLIsOrderedByBytes(t *testing.T) {
	t.Parallel()
	db := storetest.Open(t, nil, storetest.Postgres(t)).DB()
	for _, c := range texts(t, db, `SELECT table_name || '.' || column_name FROM information_schema.columns
		WHERE table_schema = 'public' AND data_type = 'text' AND table_name <> 'goose_db_version' AND collation_name IS DISTINCT FROM 'C'`) {
		t.Errorf("%s has no COLLATE \"C\": SQLite orders it differently", c)
	}
	if n := texts(t, db, "SELECT count(*)::text FROM information_schema.columns WHERE table_schema = 'public' AND collation_name = 'C'"); n[0] == "0" {
		t.Error("no text column was met")
	}
}

func (s schema) of(name string) *table {
	if s[name] == nil {
		s[name] = &table{Columns: map[string]string{}}
	}
	return s[name]
}

func (s schema) sorted() schema {
	for _, tb := range s {
		for _, l := range [][]string{tb.Unique, tb.Indexes, tb.Foreign, tb.Triggers} {
			sort.Strings(l)
		}
	}
	return s
}

// column is a type in the words of SQLite.
func column(kind string, notNull bool) string {
	kind = strings.ToLower(kind)
	if same, ok := map[string]string{"integer": "bigint", "bytea": "blob"}[kind]; ok {
		kind = same
	}
	if !notNull {
		kind += " null"
	}
	return kind
}

// index is its columns and the condition of a partial one, without the
// brackets and casts that PostgreSQL adds.
func index(columns, where string) string {
	where = strings.NewReplacer("(", "", ")", "", "::text", "", "::bigint", "").Replace(where)
	if where != "" {
		where = " where " + strings.ToLower(where)
	}
	return "(" + columns + ")" + where
}

func texts(t *testing.T, db *sql.DB, query string, args ...any) []string {
	t.Helper()
	var out []string
	each(t, db, query, args, func(scan func(...any)) {
		var s string
		scan(&s)
		out = append(out, s)
	})
	return out
}

// each calls f for every row of the query.
func each(t *testing.T, db *sql.DB, query string, args []any, f func(scan func(...any))) {
	t.Helper()
	rows, err := db.Query(query, args...)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		f(func(to ...any) {
			if err := rows.Scan(to...); err != nil {
				t.Fatal(err)
			}
		})
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
}

func sqliteSchema(t *testing.T, db *sql.DB) schema {
	t.Helper()
	s := schema{}
	for _, name := range texts(t, db, "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' AND name <> 'goose_db_version'") {
		tb := s.of(name)
		sqliteColumns(t, db, name, tb)
		sqliteIndexes(t, db, name, tb)
		each(t, db, `SELECT group_concat("from", ', '), "table", group_concat("to", ', ') FROM (SELECT * FROM pragma_foreign_key_list(?) ORDER BY id, seq) GROUP BY id`,
			[]any{name}, func(scan func(...any)) {
				var from, to, cols string
				scan(&from, &to, &cols)
				tb.Foreign = append(tb.Foreign, fmt.Sprintf("(%s) to %s(%s)", from, to, cols))
			})
		tb.Checks = strings.Count(texts(t, db, "SELECT sql FROM sqlite_master WHERE type = 'table' AND name = ?", name)[0], "CHECK (")
		for _, q := range texts(t, db, "SELECT sql FROM sqlite_master WHERE type = 'trigger' AND tbl_name = ?", name) {
			tb.Triggers = append(tb.Triggers, regexp.MustCompile(`BEFORE (\w+)`).FindStringSubmatch(q)[1])
		}
	}
	return s.sorted()
}

func sqliteColumns(t *testing.T, db *sql.DB, name string, tb *table) {
	key := map[int]string{}
	each(t, db, `SELECT name, type, "notnull", pk FROM pragma_table_info(?)`, []any{name}, func(scan func(...any)) {
		var col, kind string
		var notNull bool
		var pk int
		scan(&col, &kind, &notNull, &pk)
		tb.Columns[col] = column(kind, notNull)
		key[pk] = col
	})
	for i := 1; key[i] != ""; i++ {
		tb.Key = append(tb.Key, key[i])
	}
}

func sqliteIndexes(t *testing.T, db *sql.DB, name string, tb *table) {
	each(t, db, `SELECT l."unique", (SELECT group_concat(name, ', ') FROM (SELECT name FROM pragma_index_info(l.name) ORDER BY seqno)), COALESCE(m.sql, '')
		FROM pragma_index_list(?) l LEFT JOIN sqlite_master m ON m.name = l.name WHERE l.origin <> 'pk'`, []any{name}, func(scan func(...any)) {
		var unique bool
		var cols, def string
		scan(&unique, &cols, &def)
		_, where, _ := strings.Cut(def, " WHERE ")
		if unique {
			tb.Unique = append(tb.Unique, index(cols, where))
		} else {
			tb.Indexes = append(tb.Indexes, index(cols, where))
		}
	})
}

func postgresSchema(t *testing.T, db *sql.DB) schema {
	t.Helper()
	s := schema{}
	each(t, db, `SELECT table_name, column_name, data_type, is_nullable = 'NO' FROM information_schema.columns
		WHERE table_schema = 'public' AND table_name <> 'goose_db_version'`, nil, func(scan func(...any)) {
		var name, col, kind string
		var notNull bool
		scan(&name, &col, &kind, &notNull)
		s.of(name).Columns[col] = column(kind, notNull)
	})
	each(t, db, `SELECT c.relname, i.indisprimary, i.indisunique, COALESCE(pg_get_expr(i.indpred, i.indrelid), ''),
			(SELECT string_agg(a.attname, ', ' ORDER BY k.n) FROM unnest(i.indkey) WITH ORDINALITY k(col, n)
				JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.col)
		FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid JOIN pg_namespace n ON n.oid = c.relnamespace
		WHERE n.nspname = 'public' AND c.relname <> 'goose_db_version'`, nil, func(scan func(...any)) {
		var name, where, cols string
		var primary, unique bool
		scan(&name, &primary, &unique, &where, &cols)
		switch tb := s.of(name); {
		case primary:
			tb.Key = strings.Split(cols, ", ")
		case unique:
			tb.Unique = append(tb.Unique, index(cols, where))
		default:
			tb.Indexes = append(tb.Indexes, index(cols, where))
		}
	})
	postgresRules(t, db, s)
	return s.sorted()
}

func postgresRules(t *testing.T, db *sql.DB, s schema) {
	each(t, db, `SELECT conrelid::regclass::text, contype::text, pg_get_constraintdef(oid) FROM pg_constraint
		WHERE contype IN ('f', 'c') AND connamespace = 'public'::regnamespace`, nil, func(scan func(...any)) {
		var name, kind, def string
		scan(&name, &kind, &def)
		if kind == "c" {
			s.of(name).Checks++
			return
		}
		s.of(name).Foreign = append(s.of(name).Foreign, strings.Replace(strings.TrimPrefix(def, "FOREIGN KEY "), " REFERENCES ", " to ", 1))
	})
	each(t, db, `SELECT tgrelid::regclass::text, CASE WHEN tgtype & 4 <> 0 THEN 'INSERT' WHEN tgtype & 8 <> 0 THEN 'DELETE' ELSE 'UPDATE' END
		FROM pg_trigger WHERE NOT tgisinternal AND tgtype & 32 = 0`, nil, func(scan func(...any)) { // 32: TRUNCATE, which SQLite has not
		var name, event string
		scan(&name, &event)
		s.of(name).Triggers = append(s.of(name).Triggers, event)
	})
}
