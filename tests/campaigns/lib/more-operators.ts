import { type TestNetwork, testSigner } from '@chancery/testkit'

/** Settings of a network with further operators of the standard tier, each with a test key of its name. */
export async function withMoreOperators(
  network: TestNetwork,
  names: readonly string[],
): Promise<Readonly<Record<'OPERATOR_PUBLIC_KEYS_JSON' | 'OPERATOR_KEY_TIERS_JSON', string>>> {
  const keys = JSON.parse(network.settings['OPERATOR_PUBLIC_KEYS_JSON'] ?? '{}') as Record<string, string>
  const tiers = JSON.parse(network.settings['OPERATOR_KEY_TIERS_JSON'] ?? '{}') as Record<string, string>
  for (const name of names) {
    keys[name] = (await testSigner(name)).publicKey
    tiers[name] = 'standard'
  }
  return { OPERATOR_PUBLIC_KEYS_JSON: JSON.stringify(keys), OPERATOR_KEY_TIERS_JSON: JSON.stringify(tiers) }
}
