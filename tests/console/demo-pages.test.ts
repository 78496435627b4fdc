import { describeModel } from './model.suite.ts'
import { describePages } from './pages.suite.ts'
import { useSetup } from './console-setup.ts'

const setup = useSetup(200)

describePages(setup)
describeModel(setup)
