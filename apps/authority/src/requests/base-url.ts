import type { Call } from '@chancery/service-kit'
import type { AuthoritySettings } from '../settings/authority-settings.ts'

/** NA_PUBLIC_URL, else scheme and host the caller used as the trusted proxies leave them (protocol/core 3). */
export function baseUrl(call: Call, parts: { readonly settings: Pick<AuthoritySettings, 'publicUrl'> }): string {
  return parts.settings.publicUrl ?? call.origin
}
