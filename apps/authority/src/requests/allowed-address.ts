import { type AddressKind, addressKind } from '@chancery/service-kit'

/** Which addresses of others may be called. */
export type Reach = 'public' | 'private' | 'loopback'

const ALLOWED: Readonly<Record<Reach, readonly AddressKind[]>> = {
  public: ['public'],
  private: ['public', 'private'],
  loopback: ['public', 'private', 'loopback'],
}

/** Whether an address may be called. Plain http only reaches addresses that are not public. */
export function isAllowedAddress(address: string, reach: Reach, isPlain: boolean): boolean {
  const kind = addressKind(address)
  return kind !== undefined && ALLOWED[reach].includes(kind) && !(isPlain && kind === 'public')
}
