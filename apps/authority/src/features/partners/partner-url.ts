import { addressKind } from '@chancery/service-kit'
import { isAllowedAddress } from '../../requests/allowed-address.ts'
import type { AuthoritySettings } from '../../settings/authority-settings.ts'

const MAX_CHARACTERS = 512

/** The origin of a partner, or undefined when it may not be called (protocol/partners 3). */
export function readPartnerUrl(
  value: unknown,
  allowHttp: boolean,
  { partnerAddresses, publicUrl }: Pick<AuthoritySettings, 'partnerAddresses' | 'publicUrl'>,
): string | undefined {
  if (typeof value !== 'string' || value.length > MAX_CHARACTERS || !URL.canParse(value)) return undefined
  const url = new URL(value)
  const isPlain = url.protocol === 'http:'
  if (url.protocol !== 'https:' && !(isPlain && allowHttp)) return undefined
  const isBare = url.pathname === '/' && url.username === '' && url.password === '' && !/[?#@]/.test(value)
  if (!isBare || url.hostname === '' || url.origin === publicUrl) return undefined
  const isLiteral = addressKind(url.hostname) !== undefined
  if (isLiteral && !isAllowedAddress(url.hostname, partnerAddresses, isPlain)) return undefined
  return url.origin
}
