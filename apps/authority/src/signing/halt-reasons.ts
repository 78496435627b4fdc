import { DAY, type GenesisBlock, type Instant, SECOND, instantOf } from '@chancery/protocol'
import type { Clock } from '@chancery/service-kit'

interface Parts {
  readonly network: { readonly genesis: GenesisBlock }
  readonly clock: Pick<Clock, 'now'>
}

/** The key of the authority may be used within a validity period that the root key signed (protocol/core 2). */
export type KeyWindow = {
  readonly valid_to: string
  /** Negative after the end. */
  readonly expires_in_seconds: number
  /** Whole days. */
  readonly days_left: number
}

export function keyWindow({ network, clock }: Parts): KeyWindow {
  const { valid_to } = network.genesis.network_authority
  const left = instantOf(valid_to) - clock.now()
  return {
    valid_to,
    expires_in_seconds: Number(left / SECOND),
    days_left: left > 0n ? Number(left / DAY) : 0,
  }
}

/** Returns why the key window forbids signing. Undefined within it, and where its end only causes a warning. */
export function whyOutsideWindow({
  network,
  clock,
  settings,
}: Parts & { readonly settings: { readonly genesisWindow: 'enforce' | 'warn' } }):
  | 'signing_key_window_over'
  | 'signing_key_window_not_begun'
  | undefined {
  if (settings.genesisWindow === 'warn') return undefined
  const { valid_from, valid_to } = network.genesis.network_authority
  const now: Instant = clock.now()
  if (now >= instantOf(valid_to)) return 'signing_key_window_over'
  return now < instantOf(valid_from) ? 'signing_key_window_not_begun' : undefined
}

/** Within NA_KEY_WARNING_DAYS of the end, and after it where it only causes a warning. */
export function isWindowEnding(
  parts: Parts & { readonly settings: { readonly genesisWindow: 'enforce' | 'warn'; readonly keyWarningDays: number } },
): boolean {
  const { expires_in_seconds } = keyWindow(parts)
  return (
    expires_in_seconds < parts.settings.keyWarningDays * 86_400 && whyOutsideWindow(parts) !== 'signing_key_window_over'
  )
}

/**
 * A reason, besides the key window, why this instance must not sign: the record could be permanently wrong.
 * Implementations return a cached result at each signature, and check in the background.
 */
export interface SigningHalt {
  /** The name in the readiness document. */
  readonly reason: string
  isHalted(): boolean
}

/** Everything that stops signing now, for people. */
export function haltReasons(halts: readonly SigningHalt[]): string[] {
  return halts.filter((halt) => halt.isHalted()).map((halt) => halt.reason)
}
