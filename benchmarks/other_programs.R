# Run by other_programs.py: for each problem FOLDER/NAME.csv (arms, one a row) what the installed R packages make of it.
# Rscript other_programs.R FOLDER NAME TASK ...   TASK: package,criterion for proportions; package,N for whole numbers (D).
args <- commandArgs(trailingOnly = TRUE)
folder <- args[1]
for (name in strsplit(args[2], ",")[[1]]) {
  X <- as.matrix(read.csv(file.path(folder, paste0(name, ".csv"))))
  for (task in args[-(1:2)]) {
    part <- strsplit(task, ",")[[1]]
    package <- part[1]
    if (!requireNamespace(package, quietly = TRUE)) next
    whole <- grepl("^[0-9]+$", part[2])
    n <- nrow(X)
    w <- rep(0, n)
    set.seed(1)
    run <- function() {
      if (package == "OptimalDesign" && !whole)
        return(suppressWarnings(OptimalDesign::od_REX(X, crit = part[2], echo = FALSE, track = FALSE)$w.best))
      if (package == "OptimalDesign")
        return(suppressWarnings(OptimalDesign::od_KL(X, as.integer(part[2]), rest.max = 20, t.max = 60, echo = FALSE,
                                                     track = FALSE)$w.best))
      if (package == "AlgDesign" && !whole) {
        found <- AlgDesign::optFederov(~ . - 1, data = as.data.frame(X), approximate = TRUE, criterion = part[2])
        w[found$rows] <- found$design[, 1]
        return(w)
      }
      if (package == "AlgDesign") {
        found <- AlgDesign::optFederov(~ . - 1, data = as.data.frame(X), nTrials = as.integer(part[2]), nRepeats = 20)
        return(tabulate(found$rows, n))
      }
      # skpr makes the model matrix itself, from the columns f1, f2, ... of factors; q1, ... are their squares.
      f <- grep("^f", colnames(X), value = TRUE)
      squares <- if (any(grepl("^q", colnames(X)))) paste0(" + I(", f, "^2)", collapse = "") else ""
      model <- as.formula(paste0("~ (", paste(f, collapse = " + "), ")^2", squares))
      found <- skpr::gen_design(as.data.frame(X[, f]), model, trials = as.integer(part[2]), optimality = "D", repeats = 20,
                                progress = FALSE)
      # It names no rows of the candidate list: they are found by their values.
      key <- apply(X[, f], 1, paste, collapse = " ")
      tabulate(match(apply(as.matrix(found), 1, paste, collapse = " "), key), n)
    }
    seconds <- system.time(w <- try(run(), silent = TRUE))
    if (inherits(w, "try-error")) { message(name, " ", task, ": ", w); next }
    write(c(sum(seconds[1:2]), w), file.path(folder, paste(name, gsub(",", "-", task), "out", sep = ".")), ncolumns = 1)
  }
}
for (package in c("OptimalDesign", "AlgDesign", "skpr"))
  if (requireNamespace(package, quietly = TRUE))
    write(as.character(packageVersion(package)), file.path(folder, paste0(package, ".version")))
