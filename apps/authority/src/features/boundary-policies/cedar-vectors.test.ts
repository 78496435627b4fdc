import * as protocol from '@chancery/protocol'
import vectors from '@chancery/protocol/vectors/cedar.json' with { type: 'json' }
import { type CedarVectors, cedarQuestionOf, toAnswer } from '@chancery/protocol/vectors/check-cedar-vectors.ts'
import { afterAll, describe, expect, it } from 'vitest'
import { authorOf } from './author.suite.ts'
import { openCedarEngine } from './cedar.ts'

// Holds: the installed Cedar gives the answers of the golden vectors. After an upgrade of the package this test shows
// which results differ. Questions are repeated, because a loaded machine may exceed the time limits of the engine.

const cedar: CedarVectors = vectors
const { schema, policy_sets, engine_version } = cedar
const engine = openCedarEngine()
afterAll(() => engine.close())

const AUTHOR = authorOf('one')

const WAIT = { timeout: 25_000, interval: 100 }

describe('golden vectors of cedar.v1, by the installed engine', () => {
  it.each(Object.entries(policy_sets))(
    'accepts the policy set %s with the entities of its vectors',
    async (name, policySet) => {
      const configs = cedar.cases.filter(({ policy_set }) => policy_set === name).map(({ config }) => config)
      const gates = [...new Set(configs)].map((config) => ({
        policySet,
        schema,
        entities: protocol.cedarEntities(protocol.readJson(config) as protocol.JsonObject),
      }))
      await expect.poll(() => engine.check(gates, AUTHOR), WAIT).toEqual(gates.map(() => []))
    },
    30_000,
  )

  it.each(cedar.cases.filter(({ answer }) => answer !== undefined).map((vector) => [vector.name, vector] as const))(
    'answers: %s',
    async (_name, vector) => {
      const question = cedarQuestionOf(vector, cedar, protocol)
      if (question === undefined || vector.answer === undefined) throw new Error('the vector asks nothing')
      const texts = { policySet: policy_sets[vector.policy_set] ?? '', schema }
      await expect.poll(() => engine.ask(question, texts, 'one'), WAIT).toEqual(toAnswer(vector.answer, engine_version))
    },
    30_000,
  )
})
