import { type Attestation, type ContextRecord, digestOf } from '@chancery/protocol'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { type GovernedSetup, openSetup } from '../governed/governed.suite.ts'
import { type Governor, createGovernor } from '../governed/governor.ts'
import { MemoryOutbox, type Outbox } from '../governed/outbox.ts'
import { NoDecisionError, toAnswer } from '../node/answer.ts'
import type { Decider } from '../node/decider.ts'
import { testSigner } from '@chancery/testkit'
import { DECISION_META, governServer } from './govern-server.ts'

type Handler = (...values: readonly never[]) => unknown
type Tool = (...values: readonly unknown[]) => Promise<unknown>

let setup: GovernedSetup
let attestation: Attestation
let governor: Governor
let done: unknown[]
/** Decisions that were asked for. */
let asked: number
beforeAll(async () => {
  setup = await openSetup()
  const claims = { capabilities: ['mcp:files:read', 'mcp:files:print'] }
  attestation = await setup.client.attestations.issue({ subject_id: 'agent-1', roles: ['role:client'], claims })
})
beforeEach(async () => {
  governor = await open()
  done = []
  asked = 0
})
afterAll(() => setup.close())

/** Asks as the operator of the setup, so that no node is needed here. */
const decisions: Decider = {
  ask: async (requested_capability, { parameters = {} } = {}) => {
    asked += 1
    const context = { request_parameters: parameters }
    const request = { attestation_id: attestation.attestation_id, requested_capability, context }
    const { decision, justification_proof: justification } = await setup.client.boundary.evaluate(request)
    const record = { requested_capability } as ContextRecord
    return toAnswer({ decision, justification, context: record, requestId: 'r' })
  },
}

async function open(outbox: Outbox = new MemoryOutbox()): Promise<Governor> {
  return createGovernor({
    decisions,
    outbox,
    executor: { id: 'rotator', signer: await testSigner('rotator-1') },
    authority: { url: setup.na.url, genesis: setup.na.genesis, clock: () => setup.clock.now() },
  })
}

interface Options {
  readonly parameters?: readonly string[]
  readonly input?: 'none'
  readonly governor?: Governor
}

/** What the server would call for a tool that is registered through the governed server. */
function govern(name: string, handler: Handler, { parameters = [], input, governor: own }: Options = {}): Tool {
  const tools = new Map<string, Tool>()
  const server = { registerTool: (tool: string, _config: object, run: Tool) => void tools.set(tool, run) }
  const governed = governServer(server, { govern: own ?? governor, name: 'files', parameters: { [name]: parameters } })
  governed.registerTool(name, input === 'none' ? {} : { inputSchema: {} }, handler as never)
  return tools.get(name) as Tool
}

const text = (value: string): { content: { type: 'text'; text: string }[] } => ({
  content: [{ type: 'text', text: value }],
})

async function newest(): Promise<Record<string, unknown>> {
  const all = await setup.executions()
  return all.at(-1) as unknown as Record<string, unknown>
}

describe('an allowed call', () => {
  it('runs the handler with its arguments and context, and leaves evidence of the call', async () => {
    const read = govern(
      'read',
      async (args: { path: string; secret_text: string }, context: { id: number }) => {
        done.push([args, context])
        return text('content')
      },
      { parameters: ['path'] },
    )
    const result = await read({ path: '/a', secret_text: 'private' }, { id: 7 })
    expect(result).toEqual(text('content'))
    expect(done).toEqual([[{ path: '/a', secret_text: 'private' }, { id: 7 }]])
    const evidence = await newest()
    const digest = digestOf({ path: '/a', secret_text: 'private' })
    expect(evidence).toMatchObject({
      outcome: 'success',
      executed_capability: 'mcp:files:read',
      execution_parameters: {
        path: '/a',
        mcp: { server: 'files', tool: 'read', arguments_digest: digest },
      },
    })
    expect(JSON.stringify(evidence)).not.toContain('private')
  })

  it('gives a handler without input schema its context as the only argument', async () => {
    const read = govern(
      'read',
      (context: { id: number }) => {
        done.push(context)
        return text('x')
      },
      { input: 'none' },
    )
    await read({ id: 7 })
    expect(done).toEqual([{ id: 7 }])
    expect(await newest()).toMatchObject({ execution_parameters: { mcp: { arguments_digest: digestOf({}) } } })
  })

  it('records a result with isError as a failure, and returns it', async () => {
    const failing = { ...text('no such file'), isError: true }
    expect(await govern('read', () => failing)({}, {})).toEqual(failing)
    expect(await newest()).toMatchObject({ outcome: 'failure' })
  })

  it('records a result that requires input as partial', async () => {
    await govern('read', () => ({ resultType: 'input_required', inputRequests: {} }))({}, {})
    expect(await newest()).toMatchObject({ outcome: 'partial', outcome_detail: 'input required' })
  })

  it.each([
    ['of the current revision', { resultType: 'task', taskId: 't' }],
    ['of 2025-11-25', { task: { taskId: 't', status: 'working' } }],
  ])('records a created task %s as partial', async (_name, result) => {
    await govern('read', () => result)({}, {})
    expect(await newest()).toMatchObject({ outcome: 'partial', outcome_detail: 'task created' })
  })

  it('has a digest of input responses and request state in the evidence', async () => {
    const read = govern('read', (_args: object, _context: object) => text('x'))
    const context = (state: string): object => ({ mcpReq: { inputResponses: { a: {} }, requestState: () => state } })
    const digests: unknown[] = []
    for (const each of [{}, context('one'), context('two')]) {
      await read({}, each)
      digests.push(
        ((await newest()) as { execution_parameters: { mcp: { input_digest?: string } } }).execution_parameters.mcp
          .input_digest,
      )
    }
    expect(digests).toEqual([undefined, expect.stringMatching(/^[0-9a-f]{64}$/), expect.anything()])
    expect(digests[1]).not.toBe(digests[2])
  })

  it('has a digest of _meta in the evidence, the reserved members included', async () => {
    const read = govern('read', (_args: object, _context: object) => text('x'))
    const digests: unknown[] = []
    for (const mcpReq of [{}, { _meta: { a: 1 } }, { _meta: { a: 1 }, envelope: { version: '2' } }]) {
      await read({}, { mcpReq })
      digests.push(
        ((await newest()) as { execution_parameters: { mcp: { meta_digest?: string } } }).execution_parameters.mcp
          .meta_digest,
      )
    }
    expect(digests[0]).toBeUndefined()
    expect(digests[1]).toMatch(/^[0-9a-f]{64}$/)
    expect(digests[2]).not.toBe(digests[1])
  })

  it('records a handler that throws as a failure, and throws its error', async () => {
    const read = govern('read', () => Promise.reject(new RangeError('mine')))
    await expect(read({}, {})).rejects.toThrow('mine')
    expect(await newest()).toMatchObject({ outcome: 'failure', outcome_detail: 'RangeError' })
  })
})

describe('a denied call', () => {
  it('never runs the handler, and returns reason, decision id and what would be needed', async () => {
    const result = await govern('delete', () => done.push('ran'))({}, {})
    expect(done).toEqual([])
    const { content, isError, _meta } = result as { content: { text: string }[]; isError: true; _meta: object }
    const decision = (_meta as Record<string, { decision_id: string; authorized: boolean }>)[DECISION_META]
    expect(isError).toBe(true)
    expect(decision?.authorized).toBe(false)
    expect(content[0]?.text).toBe(
      `Denied: capability out of scope (the capability is not granted). Decision ${decision?.decision_id}. Needed: an attestation of the caller with the capability mcp:files:delete, which an operator issues.`,
    )
  })

  it('names the rule of a policy, and a value that is missing', async () => {
    const config = { path: 'request_parameters.copies', max: 10 }
    await setup.client.boundaryPolicies.publish({
      policy_id: 'printing',
      valid_from: '2020-01-01T00:00:00Z',
      valid_until: '2090-01-01T00:00:00Z',
      selector: { capabilities: ['mcp:files:print'] },
      gates: [{ gate_id: 'max-copies', gate_type: 'max_value.v1', order: 1, config }],
    })
    await setup.client.boundaryPolicies.activate('printing', { version: 1 })
    const print = govern('print', (_args: object, _context: object) => text('printed'), { parameters: ['copies'] })
    expect(await print({ copies: 2 }, {})).toEqual(text('printed'))
    const many = (await print({ copies: 11 }, {})) as { content: { text: string }[] }
    expect(many.content[0]?.text).toMatch(
      /^Denied: policy gate 'printing\/max-copies' failed \(.+\)\. Decision .+\. Needed: request_parameters.copies with \{"max":10,"operator":"<="\}, or/,
    )
    const none = (await print({}, {})) as { content: { text: string }[] }
    expect(none.content[0]?.text).toContain('Needed: a value for request_parameters.copies.')
  })
})

describe('a call with another number of values', () => {
  it('is refused without asking: its one value could be arguments or context', async () => {
    const handler = (args: object): object => ({ done: done.push(args) })
    const read = govern('read', handler, { parameters: ['path'] })
    for (const values of [[{ path: '/a' }], [], [{ path: '/a' }, {}, {}]])
      await expect(read(...values)).rejects.toThrow('wrong arguments')
    await expect(govern('read', handler, { input: 'none' })({ path: '/a' }, {})).rejects.toThrow('wrong arguments')
    expect([done, asked]).toEqual([[], 0])
    const named = { input: 'none', parameters: ['path'] } as const
    expect(() => govern('read', handler, named)).toThrow('has no parameters')
  })
})

it('does not run with arguments that changed while the authority decided', async () => {
  const given = { path: '/a' }
  setup.between = (answer) => {
    given.path = '/etc/shadow'
    return answer
  }
  const read = govern('read', (args: object, _context: object) => done.push(args))
  await expect(read(given, {})).rejects.toThrow('its arguments changed after the decision')
  setup.between = (answer) => answer
  expect(done).toEqual([])
  expect(await newest()).toMatchObject({ outcome: 'failure' })
})

describe('a call without a decision', () => {
  it('never runs the handler when the intent cannot be stored', async () => {
    class FullOutbox extends MemoryOutbox {
      override add(): Promise<never> {
        return Promise.reject(new Error('the disk is full'))
      }
    }
    const full = await open(new FullOutbox())
    const read = govern('read', () => done.push('ran'), { governor: full })
    const error = await read({}, {}).catch((found: unknown) => found)
    expect(error).toBeInstanceOf(NoDecisionError)
    expect(error).toMatchObject({ code: -32_603 })
    expect(done).toEqual([])
  })

  it.each<[string, object, object]>([
    ['an argument', { amount: JSON.parse('1e400') as number }, {}],
    ['an input response', {}, { mcpReq: { inputResponses: { a: JSON.parse('[1e400]') as unknown } } }],
    ['_meta', {}, { mcpReq: { _meta: { a: JSON.parse('-1e400') as number } } }],
  ])('refuses a number that is not finite in %s, without asking', async (_name, args, context) => {
    const read = govern('read', (_args: object, _context: object) => done.push('ran'))
    await expect(read(args, context)).rejects.toThrow('a number of the call is not finite')
    expect([done, asked]).toEqual([[], 0])
  })

  it('refuses a named argument that looks like a secret, without asking', async () => {
    const print = govern('print', (_args: object, _context: object) => done.push('ran'), {
      parameters: ['password'],
    })
    expect(await print({ password: 'x' }, {})).toMatchObject({ isError: true })
    expect([done, asked]).toEqual([[], 0])
  })
})
