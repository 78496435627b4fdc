import type { Call } from '@chancery/service-kit'
import type { AuthoritySettings } from '../settings/authority-settings.ts'

/** NA_PUBLIC_URL, else scheme and host of the request according to the trusted proxies (protocol/core 3). */
export function baseUrl(call: Call, parts: { readonly settings: Pick<AuthoritySettings, 'publicUrl'> }): string {
  return parts.settings.publicUrl ?? call.origin
}
