import type { Call } from '@chancery/service-kit'
import type { Office } from './office.ts'

/** NA_PUBLIC_URL, else scheme and host the caller used as the trusted proxies leave them (protocol/core 3). */
export function baseUrl(call: Call, office: Office): string {
  return office.settings.publicUrl ?? call.origin
}
