import { afterAll, beforeAll } from 'vitest'
import { describeDesk } from './desk.suite.ts'
import { describeEvidence } from './evidence.suite.ts'
import { describeKeyboard } from './keyboard.suite.ts'
import { describeModel } from './model.suite.ts'
import { describePages } from './pages.suite.ts'
import { describePolicies } from './policies.suite.ts'
import { openStage } from './stage.ts'
import type { Stage } from './stage.ts'

// One demo for all: filling it is most of the time this takes. What reads comes before what changes.
let stage: Stage
beforeAll(async () => {
  stage = await openStage()
})
afterAll(() => stage.close())

const current = (): Stage => stage

describePages(current)
describeModel(current)
describeEvidence(current)
describePolicies(current)
describeDesk(current)
describeKeyboard(current)
