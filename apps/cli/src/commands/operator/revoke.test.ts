// oxlint-disable max-lines -- every outcome of one command
import { readFile } from 'node:fs/promises'
import { readPrivateKeyFile, readPublicKeyFile } from '@chancery/protocol'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { refused, startFakeAuthority } from '../../testing/fake-authority.suite.ts'
import type { RecordedCall, Reply, FakeAuthority } from '../../testing/fake-authority.suite.ts'
import { TestContext } from '../../testing/run-command.suite.ts'
import { activityLines } from './revoke.ts'

let setup: TestContext
let server: FakeAuthority
let reply: (asked: RecordedCall) => Reply
let audience: string

async function read(name: string): Promise<string> {
  return readFile(setup.path('na', 'keys', name), 'utf8')
}

beforeEach(async () => {
  setup = await TestContext.make()
  await setup.run('init --home na --name EXAMPLE-NET')
  audience = readPublicKeyFile(await read('network-authority.pub'))?.value ?? ''
  const operator = readPublicKeyFile(await read('operator.pub'))?.value ?? ''
  reply = ({ body }) => ({ json: body['dry_run'] === true ? PREVIEWED : REVOKED })
  server = await startFakeAuthority({ audience, operator, genesis: setup.path('na', 'genesis.json') }, (asked) =>
    reply(asked),
  )
})
afterEach(async () => {
  await server.close()
  await setup.remove()
})

const REVOKED = {
  key_id: 'ops-2',
  revoked: true,
  already_revoked: false,
  revoked_at: '2030-01-02T03:00:00Z',
  reason: 'left-the-team',
  remaining_active_keys: 1,
}

const PREVIEWED = {
  dry_run: true,
  key_id: 'ops-2',
  would_change: true,
  remaining_active_keys: 1,
  remaining_privileged_keys: 1,
}

function line(words = 'operator revoke ops-2 --yes'): string {
  return `${words} --home na --url ${server.url}`
}

describe('operator revoke', () => {
  it('signs for the pinned authority and says what is left', async () => {
    const { code, stdout, stderr } = await setup.run(line('operator revoke ops-2 --reason left-the-team --yes'))
    expect(code).toBe(0)
    expect(stderr).toBe(
      'No request signed with ops-2 would be accepted any more.\nUsable keys left: 1, privileged: 1.\n',
    )
    expect(stdout).toBe(
      'Revoked operator key ops-2.\n  revoked at        2030-01-02T03:00:00Z\n  reason            left-the-team\n  usable keys left  1\n',
    )
    const route = 'POST /admin/operator-keys/ops-2/revoke'
    expect(server.asked).toEqual([
      { route, body: { reason: 'left-the-team', dry_run: true }, isSigned: true },
      { route, body: { reason: 'left-the-team' }, isSigned: true },
    ])
  })

  it('sends --force only with a reason, and says how many privileged keys are left', async () => {
    const without = await setup.run(line('operator revoke ops-2 --force --yes'))
    expect(without.code).toBe(2)
    expect(without.stderr).toContain('--force needs a reason')
    expect(server.asked).toEqual([])
    const numbers = { remaining_active_keys: 1, remaining_privileged_keys: 0 }
    reply = ({ body }) => ({ json: { ...(body['dry_run'] === true ? PREVIEWED : REVOKED), ...numbers } })
    const { code, stdout, stderr } = await setup.run(line('operator revoke ops-2 --force --reason left --yes'))
    expect(code).toBe(0)
    expect(stderr).toContain('Usable keys left: 1, privileged: 0.')
    expect(stdout).toContain('of these privileged  0')
    expect(server.asked.map(({ body }) => body)).toEqual([
      { reason: 'left', force: true, dry_run: true },
      { reason: 'left', force: true },
    ])
  })

  it.each([true, false])('lets no answer write to the terminal (revoked before: %s)', async (already_revoked) => {
    const key_id = 'ops-2\u001b[2J'
    reply = ({ body }) => ({
      json: body['dry_run'] === true ? { ...PREVIEWED, key_id } : { ...REVOKED, key_id, already_revoked },
    })
    const { stdout, stderr } = await setup.run(line())
    expect(`${stdout}${stderr}`).not.toContain('\u001b')
    expect(stdout).toContain('ops-2\\u001b[2J')
  })

  it('only shows what would follow with --dry-run', async () => {
    const { code, stdout } = await setup.run(line('operator revoke ops-2 --dry-run'))
    expect(code).toBe(0)
    expect(stdout).toBe(
      'No request signed with ops-2 would be accepted any more.\nUsable keys left: 1, privileged: 1.\nNothing was changed.\n',
    )
    expect((await setup.run(line('operator revoke ops-2 --dry-run --json'))).json()).toEqual({
      ...PREVIEWED,
      open_invites: null,
      active_rules: null,
    })
    expect(server.asked.every(({ body }) => body['dry_run'] === true)).toBe(true)
  })

  it('never takes an answer that does not say it was a dry run for one', async () => {
    reply = () => ({ json: REVOKED })
    const { code, stderr } = await setup.run(line())
    expect(code).toBe(1)
    expect(stderr).toContain('dry_run: is missing')
    expect(stderr).toContain('may have been carried out')
    expect(server.asked).toHaveLength(1)
  })

  it('sends no dry run to an authority that does not say that it knows them', async () => {
    server.surfaces = { genesis: `${server.url}/genesis` }
    for (const more of ['', ' --json']) {
      const { code, stdout, stderr } = await setup.run(line(`operator revoke ops-2 --dry-run${more}`))
      expect([code, stdout]).toEqual([1, ''])
      expect(stderr).toContain('does not say that it knows dry runs, so none was sent')
    }
    expect(server.asked).toEqual([])
  })

  it('revokes at such an authority without a forecast, only after the question', async () => {
    server.surfaces = {}
    const confirm = (): Promise<boolean> => {
      expect(server.asked).toEqual([])
      return Promise.resolve(true)
    }
    const { code, stderr } = await setup.run(line('operator revoke ops-2'), { isTTY: true, prompts: { confirm } })
    expect(code).toBe(0)
    expect(stderr).toContain('is not available')
    expect(server.asked.map(({ body }) => body['dry_run'])).toEqual([undefined])
  })

  it('does not wait for what the key did while daily work is refused', async () => {
    const busy = { ...refused('rate_limit_exceeded'), headers: { 'Retry-After': '60' } }
    reply = ({ route, body }) => {
      if (route.endsWith('/activity')) return busy
      return { json: body['dry_run'] === true ? { ...PREVIEWED, open_invites: 0 } : REVOKED }
    }
    const { code, stderr } = await setup.run(line())
    expect(code).toBe(0)
    expect(stderr).toContain('What the key did could not be read')
    expect(server.asked.map(({ route }) => route.split('/').at(-1))).toEqual(['revoke', 'activity', 'revoke'])
  })

  it('gives the answer as JSON', async () => {
    const { json, stderr } = await setup.run(line('operator revoke ops-2 --yes --json'))
    expect(json()).toEqual({ ...REVOKED, forecast: { ...PREVIEWED, open_invites: null, active_rules: null } })
    expect(stderr).toBe('')
  })

  it('says when nothing changed', async () => {
    reply = ({ body }) => ({
      json:
        body['dry_run'] === true
          ? { dry_run: true, key_id: 'ops-2', would_change: false }
          : { key_id: 'ops-2', revoked: true, already_revoked: true },
    })
    const { stdout } = await setup.run(line())
    expect(stdout).toBe('Operator key ops-2 was revoked before; nothing changed.\n')
    expect((await setup.run(`${line()} --json`)).json()).toEqual({
      key_id: 'ops-2',
      revoked: true,
      already_revoked: true,
      forecast: {
        dry_run: true,
        key_id: 'ops-2',
        would_change: false,
        remaining_active_keys: null,
        remaining_privileged_keys: null,
        open_invites: null,
        active_rules: null,
      },
    })
  })

  it('asks before it acts, and takes no for an answer', async () => {
    const questions: string[] = []
    const confirm = (question: string): Promise<boolean> => {
      questions.push(question)
      return Promise.resolve(false)
    }
    const { code, stderr } = await setup.run(line('operator revoke ops-2'), { isTTY: true, prompts: { confirm } })
    expect(code).toBe(1)
    expect(stderr).toContain('Usable keys left: 1, privileged: 1.')
    expect(questions[0]).toContain('Revoke operator key ops-2 at http')
    expect(server.asked.map(({ body }) => body['dry_run'])).toEqual([true])
  })

  const ACTIVITY = {
    key_id: 'ops-2',
    revoked: false,
    from: '2029-12-03T03:00:00Z',
    until: '2030-01-02T03:00:00Z',
    complete: true,
    events: [
      { event_type: 'invite_created', count: 4, first_at: '2030-01-01T00:00:00Z', last_at: '2030-01-01T01:00:00Z' },
    ],
    open_invites: 3,
    active_rules: null,
  }
  const withInvites = ({ route, body }: RecordedCall): Reply => {
    if (route.startsWith('GET /admin/operator-keys/ops-2/activity')) return { json: ACTIVITY }
    if (body['dry_run'] === true) return { json: { ...PREVIEWED, open_invites: 3 } }
    return { json: { ...REVOKED, ...(body['withdraw_invites'] === true ? { withdrawn_invites: 3 } : {}) } }
  }

  it.each([true, false])('shows what the key did and offers to withdraw its invites (wanted: %s)', async (isWanted) => {
    reply = withInvites
    const questions: string[] = []
    const confirm = (question: string): Promise<boolean> => {
      questions.push(question)
      return Promise.resolve(questions.length === 1 || isWanted)
    }
    const { code, stdout, stderr } = await setup.run(line('operator revoke ops-2'), {
      isTTY: true,
      prompts: { confirm },
    })
    expect(code).toBe(0)
    expect(stderr).toContain('ops-2 did 4 audited things from 2029-12-03T03:00:00Z to 2030-01-02T03:00:00Z.')
    expect(questions[1]).toBe('Also withdraw the 3 of its invites that can still be used?')
    expect(server.asked.at(-1)?.body['withdraw_invites']).toBe(isWanted ? true : undefined)
    expect(stdout.includes('invites withdrawn')).toBe(isWanted)
  })

  it('names one audited thing in the singular', () => {
    const [event] = ACTIVITY.events
    const one = { ...ACTIVITY, events: event === undefined ? [] : [{ ...event, count: 1 }] }
    expect(activityLines({ again: (text) => text }, one)[0]).toMatch(/^ops-2 did 1 audited thing from /)
  })

  it('withdraws them in a script only with --withdraw-invites', async () => {
    reply = withInvites
    await setup.run(line('operator revoke ops-2 --yes'))
    expect(server.asked.at(-1)?.body).toEqual({ reason: 'unspecified' })
    const { stdout } = await setup.run(line('operator revoke ops-2 --yes --withdraw-invites'))
    expect(server.asked.at(-1)?.body).toEqual({ reason: 'unspecified', withdraw_invites: true })
    expect(stdout).toContain('invites withdrawn  3')
  })

  it.each([true, false])('offers to remove the admission rules of the key (wanted: %s)', async (isWanted) => {
    reply = ({ route, body }) => {
      if (route.startsWith('GET')) return { json: { ...ACTIVITY, open_invites: 0, active_rules: 2 } }
      if (body['dry_run'] === true) return { json: { ...PREVIEWED, open_invites: 0, active_rules: 2 } }
      return { json: { ...REVOKED, ...(body['remove_rules'] === true ? { removed_rules: 2 } : {}) } }
    }
    const questions: string[] = []
    const confirm = (question: string): Promise<boolean> => {
      questions.push(question)
      return Promise.resolve(questions.length === 1 || isWanted)
    }
    const asked = await setup.run(line('operator revoke ops-2'), { isTTY: true, prompts: { confirm } })
    expect(asked.stderr).toContain('2 admission rules of it in force: chancery operator revoke ops-2 --remove-rules')
    expect(questions[1]).toBe('Also remove the 2 admission rules that it added?')
    expect(server.asked.at(-1)?.body['remove_rules']).toBe(isWanted ? true : undefined)
    const { stdout } = await setup.run(line(`operator revoke ops-2 --yes${isWanted ? ' --remove-rules' : ''}`))
    expect(stdout.includes('rules removed')).toBe(isWanted)
  })

  it('revokes also when what the key did cannot be read', async () => {
    reply = (asked) => (asked.route.startsWith('GET') ? refused('service_unavailable') : withInvites(asked))
    const { code, stderr } = await setup.run(line('operator revoke ops-2 --yes'))
    expect(code).toBe(0)
    expect(stderr).toContain('What the key did could not be read')
  })

  it('does not act unasked in a script', async () => {
    const { code, errorJson } = await setup.run(line('operator revoke ops-2 --json'))
    expect(code).toBe(2)
    expect(errorJson()).toMatchObject({
      error: { code: 'usage', message: expect.stringContaining('add --yes') as unknown },
    })
    expect(server.asked.map(({ body }) => body['dry_run'])).toEqual([true])
  })

  it('names an unknown key before it asks for --yes', async () => {
    reply = () => refused('unknown_operator_key')
    const { code, errorJson } = await setup.run(line('operator revoke ops-9 --json'))
    expect([code, errorJson()]).toMatchObject([1, { error: { code: 'unknown_operator_key' } }])
  })

  it.each([
    ['last_active_operator_key', 'Configure another operator key'],
    ['unknown_operator_key', 'chancery operator list'],
    ['insufficient_operator_tier', 'tier privileged'],
  ] as const)('explains %s', async (code, hint) => {
    reply = () => refused(code)
    const ran = await setup.run(line())
    expect(ran.code).toBe(1)
    expect(ran.stderr).toContain(hint)
  })

  it('explains a key the authority does not know', async () => {
    await setup.run('keygen operator --out unknown --key-id unknown')
    const { code, stderr } = await setup.run(`${line()} --operator-key unknown.key`)
    expect(code).toBe(1)
    expect(stderr).toContain('does not accept this signature')
    expect(server.asked).toMatchObject([{ isSigned: false }])
  })

  it('says when the clock is why', async () => {
    reply = () => ({ ...refused('admin_auth_failed'), headers: { Date: 'Wed, 02 Jan 2030 02:45:00 GMT' } })
    const { stderr } = await setup.run(line())
    expect(stderr).toContain('The clock of this machine is 15 minutes ahead of the clock of the authority.')
  })

  it('says that the first answer is trusted when nothing is pinned, and asks for the audience', async () => {
    const words = `operator revoke ops-2 --yes --url ${server.url} --operator-key na/keys/operator.key`
    const { code, stderr } = await setup.run(words)
    expect(code).toBe(0)
    expect(stderr).toContain('note: the authority is not pinned')
    expect(server.asked.filter(({ isSigned }) => isSigned)).toHaveLength(2)
  })

  it('refuses a key id that would reach another route', async () => {
    const { code } = await setup.run(line('operator revoke .. --yes'))
    expect(code).toBe(2)
    expect(server.asked).toHaveLength(0)
  })

  it('prints no private key, whatever happens', async () => {
    const seed = readPrivateKeyFile(await read('operator.key'))?.value ?? ''
    for (const answer of [{ json: REVOKED }, refused('internal_server_error'), { json: [] }]) {
      reply = () => answer
      const { stdout, stderr } = await setup.run(line(), { env: { CHANCERY_DEBUG: '1' } })
      expect(stdout + stderr).not.toContain(seed)
    }
  })
})
