package store

import "database/sql"

// DB is the writing connection, for tests that look at the schema or break a
// rule that the methods keep.
func (s *Store) DB() *sql.DB { return s.write }

// Rows is every row struct of the package.
func Rows() []any {
	return []any{
		settingsRow{}, poolRow{}, clockRow{}, leaseRow{}, flagRow{}, userRow{}, tokenRow{}, sessionRow{}, tryRow{},
		orgRow{}, membershipRow{}, invitationRow{}, projectRow{}, projectMemberRow{}, projectAccountRow{},
		classRow{}, planRow{}, planVersionRow{}, planClassRow{}, priceListRow{}, priceRow{},
		accountRow{}, orderRow{}, subscriptionRow{}, limitRow{}, weightRow{}, projectQuotaRow{}, capRow{}, siteRow{}, nodeRow{}, contributionRow{},
		timePolicyRow{}, announcementRow{},
		jobRow{}, jobLogRow{}, attemptRow{}, coverRow{}, promiseRow{}, observationRow{}, meterRow{}, segmentRow{}, lendingDayRow{}, loanUseRow{}, toldStartRow{},
		invoiceRow{}, invoiceStateRow{}, paymentRow{}, auditRow{}, outboxRow{}, nonceRow{},
	}
}
