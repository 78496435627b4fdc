import { randomBytes } from 'node:crypto'
import { availableParallelism } from 'node:os'
import { ed25519 } from '../../packages/protocol/src/signing/platform-node.ts'

/**
 * The limit formula of the performance guide: the minimum cost of a request, from the rates of the bare parts in the
 * same round. L = 1 / ( 1/E + v/(cV) + s/(cS) + 1/P ).
 */
export interface BareRates {
  /** Requests per second of the framework's echo with the same body, as many processes as cores. */
  readonly echo: number
  /** Verifications and signatures per second on one core. */
  readonly verify: number
  readonly sign: number
  /** Rows per second of the same SQL in batches; infinite where nothing is written. */
  readonly rows: number
}

export function limitOf(rates: BareRates, verifications: number, signatures: number): number {
  const cores = availableParallelism()
  return (
    1 / (1 / rates.echo + verifications / (cores * rates.verify) + signatures / (cores * rates.sign) + 1 / rates.rows)
  )
}

/** Bare Ed25519 rates of the library in use, for messages of this size. */
export async function measureSignatures(
  messageBytes: number,
  milliseconds: number,
): Promise<{ readonly verify: number; readonly sign: number; readonly verifyMicros: number }> {
  const signer = await ed25519.signer(randomBytes(32))
  const message = randomBytes(messageBytes)
  const signature = await signer.sign(message)
  const verify = rateOf(() => ed25519.verify(signer.publicKey, message, signature), milliseconds)
  const sign = rateOf(() => signer.sign(message), milliseconds)
  return { verify: verify.rate, sign: sign.rate, verifyMicros: verify.micros }
}

/** Per second, and the processor time of one in microseconds, which other load does not change. */
function rateOf(work: () => unknown, milliseconds: number): { readonly rate: number; readonly micros: number } {
  const before = process.cpuUsage()
  const start = performance.now()
  let count = 0
  while (performance.now() - start < milliseconds) {
    for (let i = 0; i < 50; i += 1) work()
    count += 50
  }
  const rate = (count * 1000) / (performance.now() - start)
  const { user, system } = process.cpuUsage(before)
  return { rate, micros: (user + system) / count }
}
