import { type JsonObject, writeInstant } from '@chancery/protocol'
import { systemClock } from '@chancery/service-kit'
import { createTestNetwork, operatorCaller, send, testSigner } from '@chancery/testkit'
import type { TestNetwork, TestResponse } from '@chancery/testkit'
import { type BalancedInstances, startBalancedInstances } from '../../instances/balanced-instances.ts'
import { startOwnServer } from './private-postgres.ts'

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

/** Three instances behind a balancer on a separate PostgreSQL, with additional operators as needed. */
interface Fleet {
  readonly instances: BalancedInstances
  readonly network: TestNetwork
  /** A signed operator call to one instance, or through the balancer. */
  call(
    url: string,
    operator: string,
    method: string,
    target: string,
    body?: JsonObject,
    signed?: Signed,
  ): Promise<TestResponse>
  close(): Promise<number>
}

/** Fixed when a call is to be repeated byte for byte. */
interface Signed {
  readonly nonce: string
  readonly timestamp: string
}

export function signedNow(nonce: string): Signed {
  return { nonce, timestamp: writeInstant(systemClock.now()) }
}

export async function startInstances(
  extraOperators: number,
  settings: Readonly<Record<string, string>> = {},
): Promise<Fleet> {
  const network = await createTestNetwork('FLEET-NET')
  const server = await startOwnServer()
  const database = await server.createDatabase()
  const names = Array.from({ length: extraOperators }, (_, index) => `op-${index}`)
  const instances = await startBalancedInstances({
    ...network.settings,
    LOG_LEVEL: 'error',
    ...(await withMoreOperators(network, names)),
    ...database.settings,
    ...settings,
  })
  return {
    instances,
    network,
    async call(url, operator, method, target, body, signed) {
      const signer = await testSigner(operator)
      const call = operatorCaller(url, signer, network.authority.publicKey, () => systemClock.now())
      return call(method, target, body, signed)
    },
    async close() {
      const code = await instances.stop()
      await server.remove()
      await network.remove()
      return code
    },
  }
}

/** One request without a key, from an address that the balancer would name. */
export function callFrom(
  url: string,
  address: string,
  method: string,
  target: string,
  body?: JsonObject,
): Promise<TestResponse> {
  return send(url, method, target, {
    headers: { 'X-Forwarded-For': address },
    ...(body === undefined ? {} : { body }),
  })
}
