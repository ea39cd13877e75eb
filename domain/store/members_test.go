package store

import "gpupool/domain"

// The nouns of who takes part and on what terms.
var _ interface {
	domain.SettingsTx
	domain.UserTx
	domain.SessionTx
	domain.OrgTx
	domain.ProjectTx
	domain.CatalogTx
	domain.AccountTx
	domain.SubscriptionTx
	domain.NodeTx
} = (*tx)(nil)
