import { DAY, draftAgentDescriptor, hours, seconds, signAgentDelete, signList, writeInstant } from '@chancery/protocol'
import type { Instant, JsonObject } from '@chancery/protocol'
import { accepted, enroll, entryOf, fetchCrl, type NodeCaller, type TestAuthority } from '@chancery/testkit'
import { type Check, earlier, isWithinTolerance, later, loggedEvents, text } from './setup.ts'

/** protocol/core 7, checks 11 and 12: the authority grants no tolerance. */
const certificateLife: Check = {
  name: 'life of a certificate',
  async prepare(setup, compare) {
    const life = setup.random.pick([1, 24])
    const [beating, renewing] = [await setup.newNode(), await setup.newNode()]
    const invite = { max_validity_hours: life }
    const held = await enroll(setup.na, beating, invite)
    const renewed = await enroll(setup.na, renewing, invite)
    const reason = (): string | undefined => {
      if (setup.now < setup.made) return '403 certificate_not_yet_valid'
      return setup.now < setup.made + hours(life) ? undefined : '403 certificate_expired'
    }
    return {
      atRest: async () =>
        compare(`heartbeat, ${life} h`, reason() ?? '200', loggedEvents(await beating.heartbeat(held.cert_id))),
      async verify() {
        const answer = await renewing.renew(renewed.cert_id)
        compare(`renewal, ${life} h`, reason() ?? '201', loggedEvents(answer))
        if (reason() !== undefined) return
        const successor = accepted(answer, 201)
        compare('issued_at of the successor', writeInstant(setup.now), text(successor, 'issued_at'))
        compare('its end', writeInstant(setup.now + hours(life)), text(successor, 'expires_at'))
      },
    }
  },
}

/**
 * protocol/core 7 and 9.2: a renewed certificate is refused from the end of the grace period on. It is listed then, or
 * at most a minute later in a batch. A listed certificate stays listed.
 */
const supersededCertificate: Check = {
  name: 'superseded certificate',
  async prepare(setup, compare) {
    const node = await setup.newNode()
    const { cert_id } = await enroll(setup.na, node, { max_validity_hours: 8760 }, { validity_hours: 8760 })
    accepted(await node.renew(cert_id), 201)
    const graceEnds = setup.made + seconds(900)
    let wasListed = false
    return {
      async atRest() {
        const entry = entryOf(await fetchCrl(setup.na.url, keyOf(setup.na)), cert_id)
        const mayWait = !wasListed && setup.highest >= graceEnds && setup.highest < graceEnds + seconds(60)
        const isListed = mayWait ? entry !== undefined : setup.highest >= graceEnds
        wasListed = isListed
        compare('listed', isListed ? 'superseded' : 'no', entry?.reason ?? 'no')
        const expected = isListed ? '403 certificate_revoked' : unlisted()
        compare('heartbeat of the predecessor', expected, loggedEvents(await node.heartbeat(cert_id)))
      },
    }

    function unlisted(): string {
      if (setup.now >= graceEnds) return '403 certificate_superseded'
      return setup.now < setup.made ? '403 certificate_not_yet_valid' : '200'
    }
  },
}

/**
 * protocol/core 19: a node is active for five minutes after a heartbeat. A heartbeat dated in the future is not older
 * than that.
 */
const roster: Check = {
  name: 'roster of active nodes',
  async prepare(setup, compare) {
    const { cert_id } = await enroll(setup.na, await setup.newNode())
    return {
      async atRest() {
        const { nodes } = accepted(await setup.na.as('standard')('GET', '/nodes')) as { nodes: JsonObject }
        compare('is among them', setup.now - setup.made < seconds(300), cert_id in nodes)
      },
    }
  },
}

/** protocol/core 13.2, checks 7 and 10, and 13.4, check 5. */
const agentPapers: Check = {
  name: 'records of agents',
  async prepare(setup, compare) {
    const { na, made } = setup
    const [late, leaving, gone] = [await setup.oldNode(), await setup.oldNode(), await setup.oldNode()]
    const descriptor = await announcement(late.node, made, made + seconds(600), 'late')
    accepted(await announce(na, await announcement(leaving.node, made, made + DAY, 'leaving')))
    const envelope = await signAgentDelete(writeInstant(made), leaving.node.signer)
    const withdrawn = await announcement(gone.node, made, made + DAY, 'gone')
    accepted(await announce(na, withdrawn))
    accepted(await remove(na, gone.node, await signAgentDelete(writeInstant(made), gone.node.signer)))
    return {
      // A delete is stored longer than any descriptor that is not newer, also after a clock was ahead for a while.
      atRest: async () =>
        compare('a withdrawn one again', '400 descriptor_expired', loggedEvents(await announce(na, withdrawn))),
      async verify() {
        const { now } = setup
        const isAlive = made - seconds(300) <= now && now <= made + seconds(600)
        compare(
          'announced late',
          isAlive ? '200' : '400 descriptor_expired',
          loggedEvents(await announce(na, descriptor)),
        )
        const isFresh = isWithinTolerance(made, now)
        const isPurged = setup.highest >= made + DAY
        const expected = !isFresh ? '401 signed_at_outside_window' : isPurged ? '404 agent_not_registered' : '200'
        compare('withdrawn late', expected, loggedEvents(await remove(na, leaving.node, envelope)))
      },
    }
  },
}

/** protocol/core 13.3: no response contains an expired registration. */
const agentListing: Check = {
  name: 'listing of an agent',
  async prepare(setup, compare) {
    const { na, made, target, random } = setup
    const { node } = await setup.oldNode()
    // Expires exactly where the pattern ends, if an agent may live that long.
    const life = later(1n, earlier(DAY, target - made + random.pick([0n, 1n, -1n, seconds(60)])))
    accepted(await announce(na, await announcement(node, made, made + life, 'clock:listed')))
    return {
      async atRest() {
        const { agents } = accepted(await na.request('GET', '/agents?capability=clock%3Alisted')) as {
          agents: readonly JsonObject[]
        }
        compare(`with ${life} µs to live`, setup.highest < made + life, agents.length === 1)
      },
    }
  },
}

const keyOf = (na: TestAuthority): string => na.genesis.network_authority.public_key

async function announcement(node: NodeCaller, at: Instant, expires: Instant, capability: string): Promise<JsonObject> {
  const draft = draftAgentDescriptor({
    agent_id: 'clocked',
    node_public_key: node.key,
    network_name: 'TEST-NET',
    capabilities: [capability],
    endpoint: { host: '198.51.100.7', port: 7448 },
    registered_at: writeInstant(at),
    expires_at: writeInstant(expires),
  })
  return signList(draft, node.signer)
}

function announce(na: TestAuthority, body: JsonObject): ReturnType<TestAuthority['request']> {
  return na.request('POST', '/agents', { body })
}

function remove(na: TestAuthority, node: NodeCaller, body: JsonObject): ReturnType<TestAuthority['request']> {
  return na.request('DELETE', `/agents/${encodeURIComponent(node.key)}`, { body })
}

export const NODE_CHECKS: readonly Check[] = [certificateLife, supersededCertificate, roster, agentPapers, agentListing]
