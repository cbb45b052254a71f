"""python -m cassle"""

from cassle.cli import main

if __name__ == "__main__":
    main()
