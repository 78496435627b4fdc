import { type JsonObject, isPlainText } from '@chancery/protocol'
import { accepted, foreignTreaty, startTestGateway, testClient, testPolicy } from '@chancery/testkit'
import type { TestClient, TestGateway } from '@chancery/testkit'
import { StubPartner } from '../../../apps/authority/src/features/partners/stub-partner.suite.ts'
import { rowsOf } from '../../../apps/authority/src/testing/rows.suite.ts'
import { type FrameSetup, openFrameSetup } from '../frame-setup.ts'
import { pin } from '../mesh-setup.ts'
import { part } from './requests.ts'

/** A list shows this many rows at most, so that each text of a setup is in its lists. */
export const AT_ONCE = 100

/** A network and a partner that it reads, both with a malicious name. */
export interface MaliciousSetup extends Omit<FrameSetup, 'close'> {
  readonly partner: StubPartner
  /** A text that every field of 64 characters stores. */
  readonly short: string
}

/** The operators whose keys are revoked, one for each text. */
export const goneOperator = (number: number): string => `gone-${number}`

const SETTINGS = {
  NA_RATE_LIMIT_PUBLIC_PER_MINUTE: '0',
  NA_RATE_LIMIT_ADMIN_PER_MINUTE: '1000000000',
  NA_RATE_LIMIT_OPERATOR_READ_PER_MINUTE: '1000000000',
  NA_PARTNER_ADDRESSES: 'loopback',
}

/** The start of a network is no request that could be refused, so that its name must be one. */
const isName = (text: string, size: number): boolean => isPlainText(text, size) && text.isWellFormed()

export async function openMaliciousSetup(texts: readonly string[]): Promise<MaliciousSetup> {
  const upTo = (size: number): readonly string[] => texts.filter((text) => isName(text, size))
  const [network, partnerName = network] = upTo(128)
  const [short] = upTo(64)
  if (network === undefined || short === undefined) throw new Error('no text can be a name: give more texts')
  const operators = Object.fromEntries(texts.map((_, number) => [goneOperator(number), 'standard'] as const))
  const setup = await openFrameSetup(SETTINGS, 0, {
    network,
    operators: { privileged: 'privileged', standard: 'standard', ...operators },
  })
  const now = (): ReturnType<typeof setup.na.core.clock.now> => setup.na.core.clock.now()
  const partner = await new StubPartner(partnerName === network ? `${network}!` : (partnerName ?? ''), now).listen()
  return {
    ...setup,
    partner,
    short,
    async stop() {
      await partner.stop()
      await setup.stop()
    },
  }
}

/**
 * Lets the authority read what the partner shows: treaties with the texts as roles, then two feeds that contradict each
 * other. Returns the addresses of the console that show them.
 */
export async function readPartner(
  { na, partner }: MaliciousSetup,
  texts: readonly string[],
): Promise<readonly string[]> {
  const { name, key, root } = partner
  const send = async (path: string, body: JsonObject, status: number): Promise<JsonObject> =>
    accepted(await na.as('privileged')('POST', path, body), status)
  const self = { sovereign_id: na.genesis.network_name, publicKey: na.genesis.network_authority.public_key }
  const allowed_roles = texts.filter((text) => isName(text, 128)).slice(0, 16)
  const scope = { allowed_roles, accepted_statuses: ['active'], claims: {} }
  const treaty = foreignTreaty(key, self, na.core.clock.now(), { scope })
  partner.show('/recognition-treaties', { count: 1, recognition_treaties: [{ treaty, status: 'active' }] })
  await send('/admin/recognition-treaties', { subject_sovereign_id: name, subject_public_keys: [key.publicKey] }, 201)
  const material = { url: partner.url, root_public_key: root.publicKey, allow_http: true, import_feeds: 'on' }
  await send('/admin/partners', material, 201)
  for (const withdrawn of ['a', 'b']) {
    partner.show('/sovereign-revocation-feed', partner.feed(5, [withdrawn]))
    await send(`/admin/partners/${part(name)}/pull`, {}, 200)
    // An operator may pull once in 10 seconds.
    await rowsOf(na.core.database).updateTable('partners').set({ asked_at: null }).execute()
  }
  const { alarms } = accepted(await na.as('standard')('GET', `/admin/partners/${part(name)}`))
  const [alarm] = alarms as readonly { readonly alarm_id: string }[]
  const page = `/operator/partners/${part(name)}`
  return [page, `${page}?do=${part(`clear-${alarm?.alarm_id ?? ''}`)}`]
}

/** A gateway that publishes the network and its partner, and a token for both. */
export async function openExplorer({
  na,
  partner,
}: MaliciousSetup): Promise<{ readonly gateway: TestGateway; readonly client: TestClient }> {
  const { name, key, url } = partner
  const names = [na.genesis.network_name, name]
  const client = testClient('operator', names, { service_groups: ['treaties', 'network'], authority_admin: true })
  const crl = partner.crl(0, [])
  const other = { anchors: { [key.key_id]: key.publicKey }, crl, minimum_crl_sequence: 0, authority_url: url }
  const networks = {
    [na.genesis.network_name]: await pin(na),
    [name]: { ...other, allow_http: true, public_mesh: true },
  }
  return { gateway: await startTestGateway({ policy: testPolicy(networks, [client]), state: 'new' }), client }
}
