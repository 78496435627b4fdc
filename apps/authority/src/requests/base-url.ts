import type { Call } from '@chancery/service-kit'
import type { AuthoritySettings } from '../settings/authority-settings.ts'

/** NA_PUBLIC_URL, else the address of the listener. Never what a caller sent (protocol/core 3). */
export function baseUrl(call: Call, parts: { readonly settings: Pick<AuthoritySettings, 'publicUrl'> }): string {
  return parts.settings.publicUrl ?? call.origin
}
