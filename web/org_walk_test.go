package web

// orgWalks are the expectations of the routes of organisations; see walks.
var orgWalks = map[string]expected{}

// orgValues are what stands in a path for parameters that only these routes have.
func (b *bundle) orgValues() map[string]string { return map[string]string{} }
