import { generateKeyPairSync, randomBytes, sign, verify } from 'node:crypto'
import { availableParallelism } from 'node:os'

/**
 * The limit formula of the performance guide: what a request must cost at least, from what the bare parts do in the
 * same round. L = 1 / ( 1/E + v/(cV) + s/(cS) + 1/P ).
 */
export interface BareRates {
  /** Requests per second of the framework's echo with the same body, as many processes as cores. */
  readonly echo: number
  /** Verifications and signatures per second on one core. */
  readonly verify: number
  readonly sign: number
  /** Rows per second of the same SQL in batches. */
  readonly rows: number
}

export function limitOf(rates: BareRates, verifications: number, signatures: number): number {
  const cores = availableParallelism()
  return (
    1 / (1 / rates.echo + verifications / (cores * rates.verify) + signatures / (cores * rates.sign) + 1 / rates.rows)
  )
}

/** Bare Ed25519 rates of the library in use, for messages of this size. */
export function measureSignatures(
  messageBytes: number,
  milliseconds: number,
): { readonly verify: number; readonly sign: number } {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519')
  const message = randomBytes(messageBytes)
  const signature = sign(null, message, privateKey)
  return {
    verify: rateOf(() => verify(null, message, publicKey, signature), milliseconds),
    sign: rateOf(() => sign(null, message, privateKey), milliseconds),
  }
}

function rateOf(work: () => unknown, milliseconds: number): number {
  const start = performance.now()
  let count = 0
  while (performance.now() - start < milliseconds) {
    for (let i = 0; i < 50; i += 1) work()
    count += 50
  }
  return (count * 1000) / (performance.now() - start)
}
