// Package domain is the centre of GPU Pool: the nouns, the use cases and the
// ports to the outside. It knows no technology: databases, Nomad, Stripe and
// HTTP stand behind the interfaces declared here.
//
// The glossary (design word, type): organisation Organisation, project Project,
// billing account BillingAccount, purchase order PurchaseOrder, node Node,
// contribution Contribution, GPU class GPUClass, plan version PlanVersion, price
// list PriceList, subscription Subscription, job Job, attempt Attempt, run Run
// (what Nomad runs for an attempt on one node), tier pool.Tier, cover pool.Cover, wait
// reason pool.Reason, promise Promise, segment Segment, invoice Invoice.
package domain
