// Package store keeps the domain's nouns in SQLite or PostgreSQL. It is the
// only home of gorm; no type of gorm stands in an exported signature.
//
// A file per noun: a row struct with explicit column names, its two
// conversions, and the methods of the noun's interface in package domain.
//
// Laws of this package. A filter by tenant is always written out as
// Where("org_id = ?", org), never as a struct condition, which would drop a
// zero id and return every tenant's rows. An insert of what is there already
// is found without an error of the database (which would abort a transaction
// of PostgreSQL). An update names its columns and checks how many rows it hit.
// Row fields are called Created, not CreatedAt: gorm fills a zero field of the
// second name with the system's time.
package store
