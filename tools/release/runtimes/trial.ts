import { type GenesisBlock, seedSigner, toBase64, toUtf8, verifySignature } from '@chancery/protocol'
import * as protocol from '@chancery/protocol'
import { MemoryNodeStore, joinNetwork, trustNetworks } from '@chancery/sdk'
import { checkCoreVectors } from '../../../packages/protocol/src/vectors/check-vectors.ts'
import core from '../../../packages/protocol/src/vectors/core.json' with { type: 'json' }
import { checkWeakKeys } from '../../../packages/protocol/src/vectors/weak-keys.ts'
import { checkVerifyVectors } from '../../../packages/sdk/src/verify/vectors.suite.ts'

/** What a runtime must do for each column of the table in docs/client-library.md. */

export interface TrialInput {
  readonly url: string
  readonly genesis: GenesisBlock
  readonly invites: readonly [string, string]
}

/** `ok`, or what went wrong. */
export type TrialResult = Readonly<Record<string, string>>

export async function runTrial(
  input: TrialInput,
  more: Readonly<Record<string, () => Promise<string>>> = {},
): Promise<TrialResult> {
  const checks: Record<string, () => Promise<string>> = {
    weak_keys: async () => {
      const { cases, accepted } = await checkWeakKeys((key, message, signature) =>
        verifySignature(key, message, signature),
      )
      return `${accepted} of ${cases} accepted`
    },
    signature: async () => {
      const signer = await seedSigner('key', toBase64(new Uint8Array(32).fill(7)))
      const message = toUtf8('message')
      const signature = toBase64(await signer.sign(message))
      return (await verifySignature(signer.publicKey, message, signature)) ? 'ok' : 'own signature refused'
    },
    core_vectors: async () => report(await checkCoreVectors(core, protocol)),
    verify_vectors: async () => report(await checkVerifyVectors()),
    client: () => tryClient(input),
    ...more,
  }
  const results: Record<string, string> = {}
  for (const [name, check] of Object.entries(checks))
    results[name] = await check().catch((error: unknown) => `failed: ${String(error)}`)
  return results
}

function report({ passed, failures }: { readonly passed: number; readonly failures: readonly string[] }): string {
  return failures.length === 0 ? `${passed} passed` : `${failures.length} failed: ${failures[0]}`
}

/** A node joins, and a relying party that refreshes itself accepts its certificate. */
async function tryClient({ url, genesis, invites }: TrialInput): Promise<string> {
  const signer = await seedSigner('node', toBase64(crypto.getRandomValues(new Uint8Array(32))))
  const node = await joinNetwork({ url, genesis, store: new MemoryNodeStore(signer), invite: invites[0] })
  const trust = await trustNetworks([{ url, genesis }])
  try {
    await trust.refresh()
    const verdict = await trust.evaluate(node.certificate)
    return verdict.trusted ? 'ok' : `refused: ${verdict.reasons.join(', ')}`
  } finally {
    await Promise.all([trust.close(), node.stop()])
  }
}
