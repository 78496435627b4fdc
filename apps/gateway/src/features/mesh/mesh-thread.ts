import { answerCalls, stepBack } from '@chancery/service-kit'
import { project } from './project.ts'
import type { ProjectionTask } from './project.ts'

// Megabytes of records of others are read and verified here, so that no request waits for it.
stepBack()
answerCalls({ project: (task: ProjectionTask) => project(task) })
