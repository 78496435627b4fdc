export const partnerHref = (id: string): string => `/operator/partners/${encodeURIComponent(id)}`
export const treatyHref = (id: string): string => `/operator/treaties/${encodeURIComponent(id)}`
