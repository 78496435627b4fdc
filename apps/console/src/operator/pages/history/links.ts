/** Ids may hold slashes, so they are one encoded segment. */
export const resourceHref = (id: string): string => `/operator/resources/${encodeURIComponent(id)}`
export const vendorHref = (id: string): string => `/operator/vendors/${encodeURIComponent(id)}`
