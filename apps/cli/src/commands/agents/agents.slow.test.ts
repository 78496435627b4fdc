import { readFile, writeFile } from 'node:fs/promises'
import { readAgentDescriptor, readJson, readJsonBytes, verifyAgentDescriptor, writeJson } from '@chancery/protocol'
import type { JsonObject } from '@chancery/protocol'
import { DESCRIPTOR_EXTENSION, carriedBytes, extensionsOf } from '@chancery/sdk/internal'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { startFakeAuthority } from '../../testing/fake-authority.suite.ts'
import { type RealNetwork, openNetwork } from '../../testing/real-authority.suite.ts'
import type { CommandRun } from '../../testing/run-command.suite.ts'

let network: RealNetwork
beforeEach(async () => {
  network = await openNetwork()
  await network.join('node')
})
afterEach(() => network.close())

const ANNOUNCE = 'agent register --home node --agent-id llm-1 --capability llm:chat --endpoint wss://198.51.100.7:7448'

async function publicKey(home = 'node'): Promise<string> {
  return (await readFile(network.setup.path(home, 'node.pub'), 'utf8')).trim().split('\n').at(-1) ?? ''
}

/** Registers an agent, sleeps `rests` times, then stops. */
function announce(
  rests: number,
  line = ANNOUNCE,
  during: (count: number) => Promise<unknown> | void = () => undefined,
): Promise<CommandRun> {
  const controller = new AbortController()
  let count = 0
  const sleep = async (ms: number): Promise<void> => {
    network.clock.advance(ms / 1000)
    count += 1
    await during(count)
    if (count >= rests) controller.abort()
  }
  return network.run(line, { sleep, stop: controller.signal })
}

function names(ran: CommandRun): readonly unknown[] {
  return ran.events().map((event) => event['event'])
}

describe('agent register', () => {
  it('--once registers for ten minutes', async () => {
    const { code, stdout } = await network.run(`${ANNOUNCE} --capability kb:x --metadata model=m-1 --once`)
    expect(code).toBe(0)
    expect(stdout).toContain('Registered llm-1.')
    expect(stdout).toContain('until         2030-01-02T03:10:00Z')
    const { json } = await network.run(`agent list --node ${await publicKey()} --home node --json`)
    expect(json()).toMatchObject({
      valid: true,
      descriptor: {
        agent_id: 'llm-1',
        capabilities: ['llm:chat', 'kb:x'],
        endpoint: { host: '198.51.100.7', port: 7448, scheme: 'wss' },
        metadata: { model: 'm-1' },
      },
    })
  })

  it('refreshes after half the lifetime and removes the agent when it is stopped', async () => {
    // The command sleeps at most 30 s at a time.
    const ran = await announce(21)
    expect([ran.code, names(ran)]).toEqual([0, ['registered', 'refreshed', 'refreshed', 'withdrawn', 'stopped']])
    const [first, second] = ran.events()
    expect(first).toMatchObject({ agent_id: 'llm-1', expires_at: '2030-01-02T03:10:00Z', refresh_in_seconds: 300 })
    expect(second).toMatchObject({ time: '2030-01-02T03:05:00Z', expires_at: '2030-01-02T03:15:00Z' })
    expect((await network.run('agent list --capability llm:chat --home node')).stdout).toContain(
      'No agent with the capability "llm:chat"',
    )
  })

  it('makes the agent public while it runs', async () => {
    let found: JsonObject = {}
    await announce(1, ANNOUNCE, async () => {
      found = (await network.run(`agent list --capability llm:chat --url ${network.na.url} --json`)).json()
    })
    expect(found).toMatchObject({ count: 1, agents: [{ valid: true, descriptor: { agent_id: 'llm-1' } }] })
  })

  it('retries after a temporary failure', async () => {
    // A newer announcement of the same key: refused until the clock has passed it.
    await network.run(`${ANNOUNCE} --once`, { now: () => network.clock.now() + 20_000_000n })
    const ran = await announce(8)
    expect(names(ran)[0]).toBe('failed')
    expect(ran.events()[0]).toMatchObject({ action: 'announce', code: 'descriptor_expired', failures: 1 })
    expect(names(ran)).toContain('registered')
  })

  it('ends when the node is revoked', async () => {
    const certificate = network.setup.path('node', 'certificate.json')
    const ran = await announce(40, ANNOUNCE, async (count) => {
      if (count === 3) await network.asOperator(`node revoke ${certificate} --yes`)
    })
    expect(ran.code).toBe(1)
    expect(ran.stderr).toContain('(node_has_no_active_certificate)')
    expect(ran.stderr).toContain('chancery status')
  })

  it('takes another lifetime', async () => {
    const { json } = await network.run(`${ANNOUNCE} --once --json --lifetime-seconds 86400`)
    expect(json()['expires_at']).toBe('2030-01-03T03:00:00Z')
  })

  it.each([
    ['agent register --home node --once', '--agent-id and --endpoint must be given'],
    [`${ANNOUNCE} --once --lifetime-seconds 59`, '--lifetime-seconds must be a whole number from 60'],
    [`${ANNOUNCE} --once --metadata x`, '--metadata must read <name>=<value>'],
    [`${ANNOUNCE} --once --metadata x=1 --metadata x=2`, 'twice'],
    [`${ANNOUNCE} --once --capability a,b`, '"a,b" contains a comma'],
    [`${ANNOUNCE} --once --card-url http://x`, '--card-url needs --card'],
    [ANNOUNCE.replace('wss://198.51.100.7:7448', '198.51.100.7'), '--endpoint cannot be used'],
    [`${ANNOUNCE.replace('llm-1', 'x'.repeat(129))} --once`, 'agent_id'],
  ])('%s is called wrongly', async (line, problem) => {
    const { code, stderr } = await network.run(line)
    expect(code).toBe(2)
    expect(stderr).toContain(problem)
  })

  it('warns of an agent that searches do not find', async () => {
    const { code, stderr } = await network.run(`${ANNOUNCE.replace('--capability llm:chat', '')} --once`)
    expect(code).toBe(0)
    expect(stderr).toContain('searches do not find')
  })
})

describe('agent register --card', () => {
  const CARD = {
    name: 'Route Planner',
    url: 'https://routes.example.com/a2a',
    skills: [{ id: 'route:plan' }, { id: 'llm:chat' }],
  }

  beforeEach(() => writeFile(network.setup.path('agent-card.json'), JSON.stringify(CARD)))

  it('announces what the card says', async () => {
    const { code, json } = await network.run('agent register --home node --card agent-card.json --once --json')
    expect(code).toBe(0)
    expect(json()['descriptor']).toMatchObject({
      agent_id: 'route-planner',
      capabilities: ['route:plan', 'llm:chat'],
      endpoint: { host: 'routes.example.com', port: 443, scheme: 'https' },
      metadata: { path: '/a2a', card_url: 'https://routes.example.com/.well-known/agent-card.json' },
    })
  })

  it('lets flags win', async () => {
    const line =
      'agent register --home node --card agent-card.json --once --json --agent-id other --capability x --endpoint ws://h:1 --metadata path=/q'
    expect((await network.run(line)).json()['descriptor']).toMatchObject({
      agent_id: 'other',
      capabilities: ['x'],
      endpoint: { host: 'h', port: 1, scheme: 'ws' },
      metadata: { path: '/q' },
    })
  })

  it('comes back as a card', async () => {
    await network.run('agent register --home node --card agent-card.json --once')
    const { code, stdout } = await network.run('agent list --capability route:plan --home node --card')
    expect(code).toBe(0)
    const card = readJson(stdout) as JsonObject
    expect(card).toMatchObject({
      name: 'route-planner',
      supportedInterfaces: [{ url: 'https://routes.example.com:443/a2a' }],
    })
    const [extension] = extensionsOf(card, DESCRIPTOR_EXTENSION)
    const descriptor = carriedBytes(extension?.['params'] as JsonObject, 'descriptor') ?? new Uint8Array()
    expect(await verifyAgentDescriptor(readAgentDescriptor(readJsonBytes(descriptor)))).toBe(true)
    const { json } = await network.run('agent list --capability route:plan --home node --card --json')
    expect(json()).toEqual({ cards: [card], left_out: 0 })
  })

  it('refuses skills that cannot be searched for, with the reason', async () => {
    await writeFile(network.setup.path('bad.json'), JSON.stringify({ ...CARD, skills: [{ id: 'plan a route' }] }))
    const { code, stderr } = await network.run('agent register --home node --card bad.json --once')
    expect(code).toBe(1)
    expect(stderr).toContain('skills[0] "plan a route" contains white space')
    expect(stderr).toContain('--capability')
  })
})

describe('agent list', () => {
  it('shows a table and that the signatures hold', async () => {
    await network.run(`${ANNOUNCE} --once`)
    const { code, stdout } = await network.run('agent list --capability llm:chat --home node')
    expect(code).toBe(0)
    const lines = stdout.trimEnd().split('\n')
    expect(lines[0]).toMatch(/^AGENT +ENDPOINT +CAPABILITIES +UNTIL +SIGNATURE +NODE KEY$/)
    expect(lines[1]).toMatch(/^llm-1 +wss:\/\/198\.51\.100\.7:7448 +llm:chat +2030-01-02T03:10:00Z +valid +/)
    expect(lines.at(-1)).toBe('1 agent; its signature is valid.')
  })

  it('stops at the limit and says so; --all goes on', async () => {
    for (const home of ['n2', 'n3']) {
      await network.join(home)
      await network.run(`${ANNOUNCE.replace('node', home).replace('llm-1', home)} --once`)
    }
    await network.run(`${ANNOUNCE} --once`)
    const { stdout } = await network.run('agent list --capability llm:chat --home node --limit 2')
    expect(stdout).toContain('2 agents; all signatures are valid.\nShows 2 of 3. Add --all or --limit.')
    expect((await network.run('agent list --capability llm:chat --home node --all --json')).json()).toMatchObject({
      count: 3,
      total: 3,
    })
  })

  it('matches the word exactly', async () => {
    await network.run(`${ANNOUNCE} --once`)
    for (const word of ['llm', 'llm:%', 'LLM:chat', 'llm:chat2'])
      expect(
        (await network.run(['agent', 'list', '--capability', word, '--home', 'node', '--json'])).json(),
      ).toMatchObject({
        count: 0,
      })
  })

  it.each([
    ['agent list --capability x --home node --limit 0', '--limit must be a whole number from 1 to 1000'],
    ['agent list --capability x --home node --limit 5 --all', '--limit or --all'],
  ])('%s is called wrongly', async (line, problem) => {
    const { code, stderr } = await network.run(line)
    expect(code).toBe(2)
    expect(stderr).toContain(problem)
  })

  it('marks what the node key did not sign, and makes no card of it', async () => {
    await network.run(`${ANNOUNCE} --once`)
    const { json } = await network.run(`agent list --node ${await publicKey()} --home node --json`)
    const descriptor = json()['descriptor'] as JsonObject
    const forged = { ...descriptor, agent_id: 'evil', endpoint: { host: 'evil.example', port: 1, scheme: 'ws' } }
    const server = await startFakeAuthority(
      { audience: '', operator: '', genesis: network.setup.path('node', 'genesis.json') },
      () => ({
        json: readJson(writeJson({ count: 2, capability: 'llm:chat', agents: [descriptor, forged] })),
      }),
    )
    const found = await network.run(`agent list --capability llm:chat --home node --url ${server.url}`)
    expect(found.code).toBe(1)
    expect(found.stdout).toMatch(/evil .*NOT VALID: its node key did not sign it/)
    expect(found.stdout).toContain('2 agents; 1 must not be used.')
    const cards = await network.run(`agent list --capability llm:chat --home node --card --json --url ${server.url}`)
    expect(cards.json()).toMatchObject({ cards: [{ name: 'llm-1' }], left_out: 1 })
    expect(cards.stderr).toContain('1 agent omitted')
    await server.close()
  })
})

describe('agent list', () => {
  it('shows one registration, by key or file', async () => {
    await network.run(`${ANNOUNCE} --metadata model=m-1 --once`)
    const { code, stdout } = await network.run('agent list --node node/node.pub --home node')
    expect(code).toBe(0)
    expect(stdout).toContain('llm-1\n')
    expect(stdout).toContain('metadata      {"model":"m-1"}')
    expect(stdout).toContain('signature     valid')
  })

  it('says when there is none', async () => {
    const { code, stderr } = await network.run('agent list --node node/node.pub --home node')
    expect(code).toBe(1)
    expect(stderr).toContain('(agent_not_registered)')
    expect(stderr).toContain('registration expired')
  })

  it('does not take the registration of another key for it', async () => {
    await network.run(`${ANNOUNCE} --once`)
    const { json } = await network.run(`agent list --node ${await publicKey()} --home node --json`)
    const server = await startFakeAuthority(
      { audience: '', operator: '', genesis: network.setup.path('node', 'genesis.json') },
      () => ({
        json: json()['descriptor'] ?? null,
      }),
    )
    await network.run('keygen node --out other')
    const shown = await network.run(`agent list --node other.pub --home node --url ${server.url}`)
    expect(shown.code).toBe(1)
    expect(shown.stdout).toContain('NOT VALID: it is the registration of another key')
    await server.close()
  })
})

describe('agent remove', () => {
  it('takes it out at once; it can be announced again', async () => {
    await network.run(`${ANNOUNCE} --once`)
    network.clock.advance(1)
    const { code, stdout } = await network.run('agent remove --home node')
    expect([code, stdout]).toEqual([0, `Removed the agent of ${await publicKey()}.\n`])
    expect((await network.run('agent list --capability llm:chat --home node --json')).json()).toMatchObject({
      count: 0,
    })
    const again = await network.run('agent remove --home node --json')
    expect(again.code).toBe(1)
    expect(again.errorJson()).toMatchObject({ error: { code: 'agent_not_registered' } })
    network.clock.advance(1)
    expect((await network.run(`${ANNOUNCE} --once`)).code).toBe(0)
  })
})
