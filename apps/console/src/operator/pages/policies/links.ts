export const policyHref = (id: string): string => `/operator/policies/${encodeURIComponent(id)}`
export const draftHref = (id: string): string => `${policyHref(id)}/draft`
