import { isNightlyPage, runnablePages } from './runnable-pages.ts'
import { describePages } from './runnable-pages.suite.ts'

describePages(runnablePages().filter(isNightlyPage))
