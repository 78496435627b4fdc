import { afterAll, beforeAll } from 'vitest'
import { describeOperatorPage } from './operator-page.suite.ts'
import { describeEvidence } from './evidence.suite.ts'
import { describeKeyboard } from './keyboard.suite.ts'
import { describeModel } from './model.suite.ts'
import { describePages } from './pages.suite.ts'
import { describePolicies } from './policies.suite.ts'
import { openSetup } from './console-setup.ts'
import type { ConsoleSetup } from './console-setup.ts'

// All suites share one demo, because creating its data takes most of the time. Suites that change data run last.
let setup: ConsoleSetup
beforeAll(async () => {
  setup = await openSetup()
})
afterAll(() => setup.close())

const current = (): ConsoleSetup => setup

describePages(current)
describeModel(current)
describeEvidence(current)
describePolicies(current)
describeOperatorPage(current)
describeKeyboard(current)
