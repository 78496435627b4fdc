import { isNightlyPage, runnablePages } from './runnable-pages.ts'
import { describePages } from './runnable-pages.suite.ts'

// In the home of a reader of the README, who has chosen its network.
describePages(runnablePages().filter(isNightlyPage), ['README.md'])
