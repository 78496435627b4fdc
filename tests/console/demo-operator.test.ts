import { describeDecisions } from './decisions.suite.ts'
import { describeKeyboard } from './keyboard.suite.ts'
import { useSetup } from './console-setup.ts'

// The suites share one demo. Those that change more of its data run later.
const setup = useSetup(40)

describeDecisions(setup)
describeKeyboard(setup)
